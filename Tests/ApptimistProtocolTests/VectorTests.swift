internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import Testing
internal import Formats

/// Holds this implementation to the vectors that another one made (`Vectors/README.md`).
@Suite struct VectorTests {
  private let keys: Vectors.Keys
  private let service: EncryptionKeyPair
  private let identity: ServiceIdentity

  init() throws {
    keys = try Vectors.read(Vectors.Keys.self, from: "keys")
    let user = try keys.user("service")
    service = try Self.encryption(user)
    identity = ServiceIdentity(encryption: service, authentication: try Self.authentication(user))
  }

  private static func encryption(_ user: Vectors.Keys.User) throws -> EncryptionKeyPair {
    try #require(EncryptionKeyPair(secret: user.encryptionSecret.bytes, for: .session))
  }

  private static func authentication(_ user: Vectors.Keys.User) throws -> AuthenticationKeyPair {
    try #require(AuthenticationKeyPair(seed: user.authenticationSeed.bytes, for: .session))
  }

  private func encryption(_ name: String) throws -> EncryptionKeyPair {
    try Self.encryption(try keys.user(name))
  }

  /// The channels of both sides of a connection: the device's, and the service's.
  private func device(_ secret: Bytes) throws -> HeaderChannel {
    let pair = try #require(EncryptionKeyPair(secret: secret.bytes, for: .session))
    let channel = HeaderChannel(
      own: pair, peer: identity.encryptionKey, dataNonce: identity.dataNonce)
    guard let channel else { throw HeaderChannelError.doesNotOpen }
    return channel
  }

  private func serviceSide(_ secret: Bytes) throws -> HeaderChannel {
    let pair = try #require(EncryptionKeyPair(secret: secret.bytes, for: .session))
    let channel = HeaderChannel(
      own: service, peer: pair.publicKey, dataNonce: identity.dataNonce)
    guard let channel else { throw HeaderChannelError.doesNotOpen }
    return channel
  }

  @Test func keyPairsAndSignatures() throws {
    for user in keys.users {
      let encryption = try Self.encryption(user)
      let authentication = try Self.authentication(user)
      #expect(encryption.publicKey.bytes == user.encryptionKey.bytes)
      #expect(authentication.publicKey.bytes == user.authenticationKey.bytes)
      #expect(
        authentication.sign(encryption.publicKey).bytes == user.signatureOfOwnEncryptionKey.bytes)
    }
    for pair in keys.ephemeral {
      #expect(EncryptionKeyPair(secret: pair.secret.bytes)?.publicKey.bytes == pair.key.bytes)
    }
    for signature in keys.signatures {
      let key: AuthenticationPublicKey = try keys.user(signature.signer).authenticationKey.value()
      #expect(
        key.verifies(try signature.signature.value(), over: signature.message.bytes)
          == signature.valid, "\(signature.name)")
    }
  }

  @Test func keysOfLowOrder() throws {
    #expect(keys.lowOrder.count == 14)
    for bytes in keys.lowOrder {
      let key: EncryptionPublicKey = try bytes.value()
      #expect(key.isLowOrder)
      #expect(BoxKey(own: service, peer: key) == nil)
    }
    for bytes in keys.notCanonical {
      let key: EncryptionPublicKey = try bytes.value()
      #expect(!key.isLowOrder)
      #expect(BoxKey(own: service, peer: key) != nil)
    }
  }

  /// The data nonce is the first 24 bytes of the service's signature over its encryption key.
  @Test func dataNonceAndDocument() throws {
    #expect(identity.dataNonce.bytes == keys.dataNonce.bytes)
    #expect(identity.dataNonce.bytes.prefix(22) == keys.headerNoncePrefix.bytes[...])
    let signature = try keys.user("service").signatureOfOwnEncryptionKey.bytes
    #expect(identity.dataNonce.bytes == Array(signature.prefix(24)))
    let document = try ServiceDocument(json: [UInt8](JSONEncoder().encode(keys.serviceDocument)))
    #expect(document == ServiceDocument(service: "siren", identity: identity))
  }

  /// Each side's boxes open with the published nonces, up to the counters where the service
  /// redirects.
  @Test func nonces() throws {
    let file = try Vectors.read(Vectors.Nonces.self, from: "nonces")
    #expect(file.connections.map(\.odd) == ["device", "service"])
    for connection in file.connections {
      let ephemeral = try #require(
        keys.ephemeral.first { $0.key.bytes == connection.ephemeralKey.bytes })
      let nonces = connection.nonces
      for side in ["device", "service"] {
        let pair = try #require(EncryptionKeyPair(secret: ephemeral.secret.bytes, for: .session))
        let key = try #require(BoxKey(own: pair, peer: identity.encryptionKey))
        var channel =
          try side == "device" ? device(ephemeral.secret) : serviceSide(ephemeral.secret)
        let expected = Dictionary(
          uniqueKeysWithValues: nonces.filter { $0.from == side }.map { ($0.pdu, $0) })
        for number in 1...(expected.keys.max() ?? 0) {
          let message = try channel.seal(.pause(.init()))
          guard let nonce = expected[number] else { continue }
          let worn = channel.isWornOut
          #expect(worn == nonce.redirectAfterIt)
          #expect(identity.dataNonce.ending(in: nonce.seq).bytes == nonce.nonce.bytes)
          let frame = try Frame(message, limits: .init())
          #expect(key.open(frame.eHeader, nonce: try nonce.nonce.value()) == [1, 7])
        }
      }
    }
  }

  @Test func headers() throws {
    let file = try Vectors.read(Vectors.Headers.self, from: "headers")
    #expect(Set(file.headers.map(\.type)) == Set(1...18))
    for vector in file.headers {
      let pdu = try #require(try PDU(named: vector.typeName, vector.fields), "\(vector.name)")
      let header = vector.header.bytes
      #expect(pdu.encoded() == header, "\(vector.typeName): \(vector.name)")
      #expect(try PDU(decoding: header) == pdu, "\(vector.typeName): \(vector.name)")
      #expect(throws: PDUError.malformed(WireError(.leftOver, at: header.count))) {
        try PDU(decoding: header + [0])
      }
      for count in 0..<min(header.count, 1000) {
        #expect((try? PDU(decoding: [UInt8](header[..<count]))) == nil)
      }
    }
  }

  @Test func refusedHeaders() throws {
    let file = try Vectors.read(Vectors.RefusedHeaders.self, from: "refused-headers")
    for vector in file.headers {
      do throws(PDUError) {
        _ = try PDU(decoding: vector.header.bytes)
        Issue.record("taken: \(vector.name)")
      } catch {
        let reason =
          switch error {
          case .unknownVersion: "version"
          case .unknownType: "type"
          case .malformed(let fault): fault.reason == .truncated ? "truncated" : "trailing"
          }
        #expect(reason == vector.reason, "\(vector.name)")
      }
    }
    for vector in file.unknownTypes {
      #expect(throws: PDUError.unknownType(vector.header.bytes[1])) {
        try PDU(decoding: vector.header.bytes)
      }
    }
  }

  /// Every message is sealed to the byte by its sender, and opened by the other side.
  @Test func connections() throws {
    let file = try Vectors.read(Vectors.Connections.self, from: "connections")
    for connection in file.connections {
      var device = try device(connection.ephemeralSecret)
      var service = try serviceSide(connection.ephemeralSecret)
      for vector in connection.messages {
        let frame = try Frame(vector.message.bytes, limits: .init())
        #expect(frame.eData == vector.eData.bytes[...])
        let pdu = try PDU(decoding: vector.header.bytes)
        let (sealed, opened) =
          if vector.from == "device" {
            (try device.seal(pdu, data: vector.eData.bytes[...]), try service.open(frame))
          } else {
            (try service.seal(pdu, data: vector.eData.bytes[...]), try device.open(frame))
          }
        #expect(sealed == vector.message.bytes, "\(vector.typeName)")
        #expect(opened == vector.header.bytes, "\(vector.typeName)")
      }
    }
  }

  @Test func boxes() throws {
    let file = try Vectors.read(Vectors.Connections.self, from: "connections")
    for vector in file.boxes {
      let from = try encryption(vector.from)
      let to = try encryption(vector.to)
      let sender = try #require(BoxKey(own: from, peer: to.publicKey))
      let reader = try #require(BoxKey(own: to, peer: from.publicKey))
      #expect(
        sender.seal(vector.data.bytes, nonce: identity.dataNonce) == vector.eData.bytes,
        "\(vector.name)")
      #expect(reader.open(vector.eData.bytes, nonce: identity.dataNonce) == vector.data.bytes)
    }
  }

  /// These come in place of the second message that the device sends on the first connection.
  @Test func refusedMessages() throws {
    let file = try Vectors.read(Vectors.Connections.self, from: "connections")
    let connection = try #require(file.connections.first)
    let first = try #require(connection.messages.first)
    for vector in file.refused {
      var service = try serviceSide(connection.ephemeralSecret)
      _ = try service.open(try Frame(first.message.bytes, limits: .init()))
      do {
        let opened = try service.open(try Frame(vector.message.bytes, limits: .init()))
        Issue.record("\(vector.name) gives \(opened)")
      } catch FrameError.lengthsDontAddUp {
        #expect(vector.reason == "lengths", "\(vector.name)")
      } catch HeaderChannelError.doesNotOpen {
        #expect(vector.reason == "box", "\(vector.name)")
      }
    }
  }

  @Test func messageIDs() throws {
    let file = try Vectors.read(Vectors.Messages.self, from: "messages")
    for vector in file.messageIDs {
      let id = MessageID(header: vector.header.bytes, data: vector.eData.bytes[...])
      #expect(id.bytes == vector.messageID.bytes, "\(vector.name)")
    }
    let post = MessageID(header: file.forum.header.bytes, data: file.forum.eData.bytes[...])
    #expect(post.bytes == file.forum.messageID.bytes)
  }

  /// With the forum's secret out of its sealed box, the post is opened and sealed for each reader.
  @Test func forum() throws {
    let file = try Vectors.read(Vectors.Messages.self, from: "messages")
    let alice = try encryption("alice")
    let sealed = try #require(BoxKey(own: service, peer: alice.publicKey))
      .open(file.escrow.eDataOfAlice.bytes, nonce: identity.dataNonce)
    #expect(sealed == file.escrow.sealed.bytes)
    let secret = try #require(SealedBox.open(file.escrow.sealed.bytes, with: service))
    #expect(secret == file.escrow.forumSecret.bytes)
    let forum = try #require(EncryptionKeyPair(secret: secret))
    guard case .message(let post) = try PDU(decoding: file.forum.header.bytes) else {
      Issue.record("the post is no message")
      return
    }
    #expect(post.recipient == forum.publicKey && post.to == forum.publicKey)
    #expect(post.from == alice.publicKey)
    let data = try #require(BoxKey(own: forum, peer: post.from))
      .open(file.forum.eData.bytes, nonce: identity.dataNonce)
    #expect(data == file.forum.data.bytes)
    for copy in file.forum.copies {
      let reader = try encryption(copy.reader).publicKey
      let header = PDU.message(
        .init(time: post.time, recipient: reader, to: post.to, from: post.from)
      ).encoded()
      let eData = try #require(BoxKey(own: forum, peer: reader))
        .seal(file.forum.data.bytes, nonce: identity.dataNonce)
      #expect(header == copy.header.bytes)
      #expect(eData == copy.eData.bytes)
      #expect(MessageID(header: header, data: eData[...]).bytes == copy.messageID.bytes)
      #expect(file.forum.eData.bytes == copy.blindEData.bytes)
      #expect(
        MessageID(header: header, data: copy.blindEData.bytes[...]).bytes
          == copy.blindMessageID.bytes)
    }
  }
}

extension PDU {
  /// Makes the PDU with these fields, by their names in the specification.
  ///
  /// - Returns: nil for an unknown type.
  init?(named name: String, _ fields: Fields) throws {
    switch name {
    case "login":
      self = .login(
        .init(
          user: try fields.value("userPubEncrKey"), signature: try fields.value("signature"),
          max: try fields.number("max"), head: try fields.value("head")))
    case "redirect":
      let uri = String(decoding: try fields.bytes("uri"), as: UTF8.self)
      self = .redirect(try #require(Redirect(uri: uri)))
    case "new":
      self = .new(
        .init(
          key: try fields.value("pubEncrKey"), authenticationKey: try fields.value("pubAuthKey"),
          name: try fields.short("name"), uid: try fields.short("uid"),
          token: try fields.short("token")))
    case "del": self = .del(.init(key: try fields.value("pubEncrKey")))
    case "message":
      self = .message(
        .init(
          time: try fields.number("time"), recipient: try fields.value("recipientPubEncrKey"),
          to: try fields.value("toPubEncrKey"), from: try fields.value("fromPubEncrKey")))
    case "truncate": self = .truncate(.init(message: try fields.value("messageID")))
    case "pause": self = .pause(.init())
    case "resume": self = .resume(.init())
    case "vouch":
      self = .vouch(
        .init(
          subject: try fields.value("subjectPubEncrKey"),
          signature: try fields.value("signature")))
    case "vouchers":
      self = .vouchers(
        .init(
          subject: try fields.value("subjectPubEncrKey"),
          vouchers: try fields.keys("voucherPubEncrKeys")))
    case "searchByName":
      self = .searchByName(
        .init(maxUsers: try fields.number("maxUsers"), text: try fields.short("name")))
    case "searchByUid":
      self = .searchByUid(
        .init(maxUsers: try fields.number("maxUsers"), text: try fields.short("uid")))
    case "searchByKey": self = .searchByKey(.init(key: try fields.value("pubEncrKey")))
    case "user":
      self = .user(
        .init(
          count: try fields.number("count"), key: try fields.value("pubEncrKey"),
          name: try fields.short("name"), uid: try fields.short("uid")))
    case "read": self = .read(try .init(fields))
    case "lock": self = .lock(try .init(fields))
    case "write": self = .write(try .init(fields))
    case "remove": self = .remove(try .init(fields))
    default: return nil
    }
  }
}

extension PDU.FileRequest {
  fileprivate init(_ fields: Fields) throws {
    self.init(
      directory: try fields.value("pubEncrKey"),
      error: ErrorCode(rawValue: try fields.number("error")),
      filename: try fields.short("filename"))
  }
}
