internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import Testing

/// Holds version 2 to the vectors that another implementation made (`Vectors/make_version2.py`).
@Suite struct Version2VectorTests {
  private let vectors: Version2Vectors
  private let identity: ServiceIdentity
  private let device: EncryptionKeyPair
  private let node: EncryptionKeyPair

  init() throws {
    vectors = try Vectors.read(Version2Vectors.self, from: "version2")
    identity = ServiceIdentity(
      encryption: try vectors.keys.service.encryption(),
      authentication: try vectors.keys.service.authentication())
    device = try vectors.keys.deviceEphemeral.pair()
    node = try vectors.keys.serviceEphemeral.pair()
  }

  private func handshake(_ offered: [UInt8]) throws -> Version2.Handshake {
    Version2.Handshake(
      with: identity, device: device.publicKey, service: node.publicKey,
      offer: try #require(Version2.VersionOffer(offered)))
  }

  /// A key of the file, for boxes.
  private func boxKey(_ bytes: [UInt8]) throws -> BoxKey {
    try #require(BoxKey(bytes))
  }

  @Test func serviceSignsItsVersions() throws {
    let service = vectors.service
    let signed = Version2.service(identity.encryptionKey, speaks: service.versions)
    #expect(signed == service.signature2Over.bytes)
    let document = ServiceDocument(
      service: "siren", identity: identity,
      signedWith: try vectors.keys.service.authentication())
    #expect(document.versionsSignature?.bytes == service.signature2.bytes)
    #expect(document.versions == service.versions.map(Int.init))
    #expect(try ServiceDocument(json: document.json()) == document)
  }

  @Test func handshakes() throws {
    for vector in vectors.handshakes {
      let names = vector.subprotocols.split(separator: ",").map { $0.drop(while: \.isWhitespace) }
      #expect(Version2.VersionOffer(subprotocols: names)?.versions == vector.offered)
      let handshake = try handshake(vector.offered)
      #expect(handshake.hash.bytes == vector.h.bytes)
      guard
        var service = handshake.serviceChannel(try vectors.keys.service.encryption(), node)
      else { throw HeaderChannelError.doesNotOpen }
      let hello = Version2.Hello(
        time: 1_700_000_000, headerMax: 4096, dataMax: 1 << 20, pageMax: 100)
      #expect(Version2.ServicePDU.hello(hello).encoded() == vector.helloHeader.bytes)
      let first = service.seal(.hello(hello), behind: node.publicKey)
      #expect(first == vector.firstMessage.bytes)
      #expect(try opened(vector.firstMessage.bytes, offered: vector.offered) == .hello(hello))
    }
  }

  /// The device's result of a first message; nil if it closes.
  private func opened(_ message: [UInt8], offered: [UInt8]) throws -> Version2.ServicePDU? {
    guard let first = Version2.FirstMessage(message) else { return nil }
    let handshake = Version2.Handshake(
      with: identity, device: device.publicKey, service: first.service,
      offer: try #require(Version2.VersionOffer(offered)))
    guard var channel = handshake.deviceChannel(device, with: identity),
      let frame = channel.open(first.box)
    else { return nil }
    return try Version2.ServicePDU.decode(try Version2.ClearFrame(frame, limits: nil).header)
  }

  /// Every PDU is read and written as it is, in its box; each prefix and each change is refused.
  @Test func pdus() throws {
    let handshake = try #require(vectors.handshakes.first)
    for vector in vectors.pdus {
      let isDevice = vector.sender == "device"
      let key = try boxKey((isDevice ? handshake.deviceKey : handshake.serviceKey).bytes)
      var sender = Version2.Channel(sending: key, receiving: key, sent: vector.n)
      var receiver = Version2.Channel(sending: key, receiving: key, received: vector.n)
      guard let frame = receiver.open(vector.box.bytes[...]) else {
        Issue.record("\(vector.name) does not open")
        continue
      }
      #expect(frame == vector.frame.bytes)
      let clear = try Version2.ClearFrame(frame, limits: Frame.Limits())
      #expect(clear.header == vector.header.bytes[...] && clear.data == vector.data.bytes[...])
      let header = vector.header.bytes
      let sealed: [UInt8]
      if isDevice {
        let pdu = try Version2.DevicePDU(decoding: header[...])
        #expect(pdu.encoded() == header, "\(vector.name)")
        sealed = sender.seal(pdu, data: vector.data.bytes)
      } else {
        let pdu = try #require(try Version2.ServicePDU.decode(header[...]))
        #expect(pdu.encoded() == header, "\(vector.name)")
        sealed = sender.seal(pdu, data: vector.data.bytes)
      }
      #expect(sealed == vector.box.bytes, "\(vector.name)")
      for count in 0..<header.count {
        #expect(!reads(header[..<count], isDevice: isDevice), "\(vector.name), \(count) bytes")
      }
      #expect(!reads(header[...] + [0], isDevice: isDevice), "\(vector.name), a byte more")
      var channel = Version2.Channel(sending: key, receiving: key, received: vector.n)
      for place in vector.box.bytes.indices {
        var changed = vector.box.bytes
        changed[place] ^= 1
        let isOpened = channel.open(changed[...]) != nil
        let isOpenedInPart = channel.open(vector.box.bytes[..<place]) != nil
        #expect(!isOpened && !isOpenedInPart, "\(vector.name), byte \(place)")
      }
      for place in frame.indices {
        #expect(throws: FrameError.self, "\(vector.name), \(place) bytes") {
          try Version2.ClearFrame([UInt8](frame[..<place]), limits: nil)
        }
      }
    }
  }

  private func reads(_ header: ArraySlice<UInt8>, isDevice: Bool) -> Bool {
    isDevice
      ? (try? Version2.DevicePDU(decoding: header)) != nil
      : (try? Version2.ServicePDU.decode(header)) != nil
  }

  @Test func lists() throws {
    let vouchers = try #require(vectors.pdus.first { $0.name == "answer to vouchers" })
    let voucher = try #require(Version2.Voucher.list(1, in: vouchers.data.bytes[...])?.first)
    let anne = try vectors.keys.anne.encryption().publicKey
    let bert = try vectors.keys.bert.encryption().publicKey
    let signed = Version2.vouch(for: bert, by: anne, at: identity.encryptionKey)
    #expect(voucher.voucher == anne)
    #expect(voucher.authenticationKey.verifies(voucher.signature, over: signed))
    var list: [UInt8] = []
    voucher.append(to: &list)
    #expect(list == vouchers.data.bytes)
    let users = try #require(vectors.pdus.first { $0.name == "answer to searchByKey" })
    let user = try #require(Version2.User.list(1, in: users.data.bytes[...])?.first)
    #expect(user.key == bert && user.kind == .user && user.name.text == "Bert")
    list = []
    user.append(to: &list)
    #expect(list == users.data.bytes)
    for count in [0, 2] as [UInt16] {
      #expect(Version2.User.list(count, in: users.data.bytes[...]) == nil)
      #expect(Version2.Voucher.list(count, in: vouchers.data.bytes[...]) == nil)
    }
  }

  @Test func proofs() throws {
    let handshake = try handshake([2])
    let anne = try vectors.keys.anne.encryption()
    let signer = try vectors.keys.anne.authentication()
    let possession = try #require(handshake.possession(of: anne))
    #expect(possession.bytes == vectors.proofs["possession"]?.value?.bytes)
    #expect(handshake.verifies(possession, of: anne.publicKey, with: node))
    #expect(!handshake.verifies(Version2.Possession(), of: anne.publicKey, with: node))
    let bert = try vectors.keys.bert.encryption().publicKey
    let signed = [
      "login": handshake.login(anne.publicKey),
      "leave": handshake.leave(anne.publicKey),
      "new": handshake.new(anne.publicKey, signer.publicKey),
      "vouch": Version2.vouch(for: bert, by: anne.publicKey, at: identity.encryptionKey),
    ]
    for (name, bytes) in signed {
      #expect(bytes == vectors.proofs[name]?.signed?.bytes, "\(name)")
      #expect(signer.sign(bytes).bytes == vectors.proofs[name]?.signature?.bytes, "\(name)")
    }
  }

  private func message(
    to: Bytes?, from: Bytes?, recipient: Bytes?, _ time: UInt64?
  ) throws -> PDU.Message {
    PDU.Message(
      time: try #require(time), recipient: try #require(recipient).value(),
      to: try #require(to).value(), from: try #require(from).value())
  }

  @Test func sealedMessages() throws {
    let pairs = try [
      vectors.keys.anne, vectors.keys.bert, vectors.keys.cleo, vectors.keys.forum,
    ].map { try $0.encryption() }
    for vector in vectors.sealed {
      let message = try message(
        to: vector.toPubEncrKey, from: vector.fromPubEncrKey,
        recipient: vector.recipientPubEncrKey, vector.time)
      let kind = try #require(Version2.Sealing.Kind(rawValue: vector.kind))
      let sealing = Version2.Sealing(kind, of: message, at: identity.encryptionKey)
      let sender = try #require(pairs.first { $0.publicKey == sealing.sender })
      let receiver = try #require(EncryptionKeyPair(secret: vector.receiverSecret.bytes))
      let fresh = try #require(EncryptionKeyPair(secret: vector.gSecret.bytes))
      #expect(
        sealing.seal(vector.plain.bytes, with: sender, fresh: fresh) == vector.eData.bytes,
        "\(vector.name)")
      #expect(sealing.open(vector.eData.bytes, with: receiver) == vector.plain.bytes)
      #expect(Version2.Sealing.kind(of: vector.eData.bytes) == kind)
      #expect(PDU.message(message).encoded() == vector.header1.bytes)
      let id = MessageID(of: message, data: vector.eData.bytes[...])
      #expect(id.bytes == vector.messageID.bytes, "\(vector.name)")
      guard let signer = vector.signer else { continue }
      let content = try #require(Version2.SignedContent(vector.plain.bytes))
      #expect(content.content == vector.content?.bytes)
      #expect(
        content.isSigned(message, at: identity.encryptionKey, by: try signer.value()))
    }
    #expect(Version2.Sealing.kind(of: vectors.version1Box.eData.bytes) == nil)
    let post = try #require(vectors.sealed.first { $0.kind == 2 })
    let passedOn = try message(
      to: post.toPubEncrKey, from: post.fromPubEncrKey,
      recipient: vectors.keys.cleo.encryptionKey, post.time)
    let id = MessageID(of: passedOn, data: post.eData.bytes[...])
    #expect(id.bytes == vectors.messageIDs.postForCleo.bytes)
  }

  @Test func refused() throws {
    for vector in vectors.refuse {
      #expect(try isRefused(vector), "\(vector.what): \(vector.reason)")
    }
  }

  private func isRefused(_ vector: Version2Vectors.Refused) throws -> Bool {
    switch vector.what {
    case "box":
      let key = try boxKey(try #require(vector.key).bytes)
      var channel = Version2.Channel(
        sending: key, receiving: key, received: try #require(vector.n))
      return channel.open(try #require(vector.box).bytes[...]) == nil
    case "first message":
      return try opened(
        try #require(vector.firstMessage).bytes, offered: try #require(vector.offered)) == nil
    case "frame":
      let frame = try #require(vector.frame).bytes
      return (try? Version2.ClearFrame(frame, limits: Frame.Limits())) == nil
    case "header":
      do throws(Version2.DevicePDUError) {
        _ = try Version2.DevicePDU(decoding: (vector.header?.bytes ?? [])[...])
        return false
      } catch {
        if case .unknownType = error { return vector.result == "error 11" }
        return vector.result == "1008"
      }
    case "signature":
      let key: AuthenticationPublicKey = try #require(vector.key).value()
      return !key.verifies(
        try #require(vector.signature).value(), over: try #require(vector.signed).bytes)
    case "possession":
      let proof: Version2.Possession = try #require(vector.value).value()
      return !(try handshake([2])).verifies(
        proof, of: try #require(vector.key).value(), with: node)
    case "user key":
      let key: EncryptionPublicKey = try #require(vector.key).value()
      return key.isLowOrder || !key.isCanonical || key == identity.encryptionKey
    case "sealed": return try isRefusedByReader(vector)
    default: return false
    }
  }

  private func isRefusedByReader(_ vector: Version2Vectors.Refused) throws -> Bool {
    let secret = try #require(vector.receiverSecret).bytes
    let receiver = try #require(EncryptionKeyPair(secret: secret, for: .session))
    let kind = try #require(vector.kind.flatMap { Version2.Sealing.Kind(rawValue: $0) })
    let message = try message(
      to: vector.toPubEncrKey, from: vector.fromPubEncrKey, recipient: vector.toPubEncrKey,
      vector.time)
    // The reader takes the sender from the message: another sender is another `from`.
    let sealing = Version2.Sealing(kind, of: message, at: identity.encryptionKey)
    guard sealing.sender.bytes == vector.sender?.bytes,
      let plain = sealing.open(try #require(vector.eData).bytes, with: receiver)
    else { return vector.opens != true }
    guard let signer = vector.signer, let content = Version2.SignedContent(plain) else {
      return false
    }
    return !content.isSigned(message, at: identity.encryptionKey, by: try signer.value())
  }
}
