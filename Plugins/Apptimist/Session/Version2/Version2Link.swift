internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// The boxes of a session of version 2, and the proofs of its keys.
struct Version2Link: ~Copyable {
  private var channel: Version2.Channel
  private let handshake: Version2.Handshake
  private let ephemeral: EncryptionKeyPair

  /// Makes the boxes of a new session.
  ///
  /// - Returns: nil if no secret can be agreed on with the device's key.
  init?(_ setup: SessionSetup, _ version2: Version2Setup) {
    let handshake = Version2.Handshake(
      with: setup.identity, device: setup.ephemeralKey, service: version2.ephemeral.publicKey,
      offer: version2.offer)
    guard let channel = handshake.serviceChannel(setup.encryption, version2.ephemeral) else {
      return nil
    }
    self.channel = channel
    self.handshake = handshake
    ephemeral = version2.ephemeral
  }

  // MARK: - Sending

  /// Sends the first message.
  mutating func greet(_ version2: Version2Setup, _ context: inout SessionContext) {
    let limits = context.setup.limits.frame
    let hello = Version2.Hello(
      time: version2.time, headerMax: UInt32(clamping: limits.header),
      dataMax: UInt32(clamping: limits.data), pageMax: version2.pageMax)
    let message = channel.seal(.hello(hello), behind: ephemeral.publicKey)
    context.actions.append(.send(message, .other))
  }

  /// Answers a request, unless it wants no answer.
  mutating func answer(
    _ request: OpenRequest, _ result: Result<Version2.Answer.Content, ErrorCode>,
    data: [UInt8] = [], _ context: inout SessionContext
  ) {
    guard request.number != 0 else { return }
    let answer = Version2.Answer(to: request.type, request: request.number, result)
    context.actions.append(.send(channel.seal(.answer(answer), data: data), .other))
  }

  /// Answers a request with its outcome, unless it wants no answer.
  mutating func answer(
    _ request: OpenRequest, _ outcome: ErrorCode, _ context: inout SessionContext
  ) {
    answer(request, outcome == .done ? .success(.done) : .failure(outcome), &context)
  }

  /// Sends an entry of the stream.
  mutating func send(_ entry: MailboxEntry, _ context: inout SessionContext) {
    let position = UInt64(bitPattern: entry.position.rawValue)
    switch entry.content {
    case .message(let header, let data):
      let message = channel.seal(version1: header, at: position, data: data)
      context.actions.append(.send(message, .message))
    case .truncation:
      context.actions.append(.send(channel.seal(.truncate(entry.id, at: position)), .other))
    }
  }

  /// Redirects the device to a URI, as this node goes away.
  ///
  /// - Returns: the end that the session has with this.
  mutating func redirect(to uri: String, _ context: inout SessionContext) -> SessionEnd {
    if uri.utf8.count <= Version2.Redirect.longest, let text = Version2.ShortText(uri) {
      let message = channel.seal(.redirect(Version2.Redirect(reason: 1, uri: text)))
      context.actions.append(.send(message, .redirect))
    }
    return .close(1001)
  }

  // MARK: - Receiving

  /// Opens a message, and responds to an unknown type with an error.
  ///
  /// - Returns: the request, or nil if its type is unknown.
  /// - Throws: the end that a message which is no frame, is too large or does not open leads to.
  mutating func receive(
    _ message: WebSocketMessage, _ context: inout SessionContext
  ) throws(SessionEnd) -> ReceivedRequest {
    guard case .binary(let bytes) = message else { throw .close(1003) }
    let limits = context.setup.limits.frame
    guard bytes.count <= limits.version2Message else { throw .close(1009) }
    guard let opened = channel.open(bytes[...]) else { throw .refuse }
    let frame: Version2.ClearFrame
    do throws(FrameError) {
      frame = try Version2.ClearFrame(opened, limits: limits)
    } catch { throw .close(error == .overLimit ? 1009 : 1002) }
    do throws(Version2.DevicePDUError) {
      let pdu = try Version2.DevicePDU(decoding: frame.header)
      context.count(.received(type: pdu.type))
      return ReceivedRequest(
        request: OpenRequest(type: pdu.type, number: pdu.request), body: pdu.body,
        data: [UInt8](frame.data))
    } catch {
      guard case .unknownType(let type, let request) = error else { throw .refuse }
      context.count(.ignored)
      return ReceivedRequest(request: OpenRequest(type: type, number: request), body: nil, data: [])
    }
  }

  // MARK: - Proofs

  /// Finds faults of a login's fields, without a query (page "Accounts").
  func fault(_ login: Version2.Login, _ setup: SessionSetup) -> ErrorCode? {
    guard login.flags.isFromDevice, isFit(login.user, setup) else { return .badField }
    return handshake.verifies(login.possession, of: login.user, with: ephemeral) ? nil : .wrongProof
  }

  /// Returns whether a user has signed a login.
  func isSigned(_ login: Version2.Login, by key: AuthenticationPublicKey) -> Bool {
    key.verifies(login.signature, over: handshake.login(login.user))
  }

  /// Returns whether a user has signed the deletion of the account.
  func isLeave(_ signature: Signature, of login: AccountLogin) -> Bool {
    login.authenticationKey.verifies(signature, over: handshake.leave(login.user))
  }

  /// Checks all about a new account that can be checked without asking anybody (page "Accounts").
  ///
  /// - Throws: the first error that applies.
  func account(
    _ new: Version2.New, token: [UInt8], isForum: Bool, _ setup: SessionSetup
  ) throws(ErrorCode) -> RequestedAccount {
    guard new.flags.isFromDevice, isFit(new.key, setup), !new.authenticationKey.isLowOrder,
      !isForum || new.uid.count == 0 && token.isEmpty
    else { throw .badField }
    guard let name = AccountName(new.name), let uid = new.uid.text else { throw .badFilename }
    guard token.count <= Version2.longestToken else { throw .overQuota }
    let signed = handshake.new(new.key, new.authenticationKey)
    guard new.authenticationKey.verifies(new.signature, over: signed),
      handshake.verifies(new.possession, of: new.key, with: ephemeral)
    else { throw .wrongProof }
    return RequestedAccount(new, name: name, uid: uid, token: token)
  }

  private func isFit(_ key: EncryptionPublicKey, _ setup: SessionSetup) -> Bool {
    setup.isFit(key) && key.isCanonical && key != setup.ephemeralKey.canonical
      && key != ephemeral.publicKey
  }
}

/// A request that is to be answered.
struct OpenRequest {
  let type: UInt8
  /// The number by which the device knows it; 0 if it wants no answer.
  let number: UInt32
}

/// The values that a session of version 2 needs beside a ``SessionSetup``.
struct Version2Setup: Sendable {
  /// The service's ephemeral pair, which serves this connection alone.
  let ephemeral: EncryptionKeyPair
  /// The versions that the device offered.
  let offer: Version2.VersionOffer
  /// The time of the upgrade, in seconds since 1970.
  let time: UInt64
  /// The most items of a page.
  let pageMax: UInt16
}

/// A request of a device of version 2 that came.
struct ReceivedRequest {
  let request: OpenRequest
  /// The request of the device, or nil if there is no such type.
  let body: Version2.DevicePDU.Body?
  let data: [UInt8]

  /// True if there is data where a type that may be asked for after the login has none.
  var hasStrayData: Bool {
    switch body {
    case .new, .message, .write, .login, .push, nil: false
    default: !data.isEmpty
    }
  }
}
