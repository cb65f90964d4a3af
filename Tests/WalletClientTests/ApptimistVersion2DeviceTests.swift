internal import ApptimistProtocol
internal import Cryptography
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform
internal import HTTPClient

@testable import WalletClient

/// The device against a service of version 2 that misbehaves.
@Suite struct ApptimistVersion2DeviceTests {
  private let keys = DeviceKeys.generate()
  private let other = DeviceKeys.generate().user

  /// Runs a device for the time of a closure.
  private func with(
    _ service: ScriptedVersion2Service, _ body: (Device) async throws -> Void
  ) async throws {
    try await withServer(service) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))/siren"))
      let device = try Device(
        keys: keys, service: ServicePin(service.identity), url: url,
        options: ApptimistDeviceTests.quick)
      let running = Task { try await device.run() }
      defer { running.cancel() }
      try await body(device)
    }
  }

  private var outgoing: OutgoingMessage {
    OutgoingMessage(
      PDU.Message(time: 1, recipient: other, to: other, from: keys.user), box: [1, 2, 3])
  }

  @Test func aMessageIsRepeatedUnchangedUntilItIsAnswered() async throws {
    let copies = Lock<[MessageID]>([])
    let service = ScriptedVersion2Service { session, pdu, data in
      switch pdu.body {
      case .login: session.welcome(pdu)
      case .message(let message):
        copies.withLock { $0.append(MessageID(of: message, data: data[...])) }
        if session.number < 3 {
          session.socket.close(1001)
        } else {
          session.answer(pdu, .placed(isKnown: true, position: 0))
        }
      default: break
      }
    }
    try await with(service) { device in
      let message = outgoing
      try await device.send(message)
      #expect(copies.withLock { $0 } == [message.id, message.id, message.id])
      #expect(Set(service.ephemeralKeys).count == 3)
    }
  }

  /// One service in two places: the first sends the device to the second instead of an answer.
  @Test func aRedirectTakesRequestsAlong() async throws {
    let encryption = EncryptionKeyPair.generate()
    let authentication = AuthenticationKeyPair.generate()
    let target = ScriptedVersion2Service(encryption, authentication) { session, pdu, _ in
      switch pdu.body {
      case .login: session.welcome(pdu)
      case .message: session.answer(pdu, .placed(isKnown: false, position: 0))
      default: break
      }
    }
    try await withServer(target) { address in
      let uri = Version2.ShortText("ws\(address.dropFirst(4))/elsewhere")
      let service = ScriptedVersion2Service(encryption, authentication) { session, pdu, _ in
        switch pdu.body {
        case .login: session.welcome(pdu)
        case .message:
          if let uri { session.send(.redirect(Version2.Redirect(reason: 1, uri: uri))) }
          session.socket.close(1001)
        default: break
        }
      }
      try await with(service) { device in
        try await device.send(outgoing)
        #expect(service.ephemeralKeys.count == 1 && target.ephemeralKeys.count == 1)
        #expect(service.ephemeralKeys != target.ephemeralKeys)
      }
    }
  }

  /// A connection on which a box doesn't open is given up; the stream goes on behind the last entry, without repetition.
  @Test func aTamperedStreamGoesOnBehindWhatCame() async throws {
    let (user, sender) = (keys.user, other)
    let afters = Lock<[UInt64]>([])
    let service = ScriptedVersion2Service { session, pdu, _ in
      guard case .login(let login) = pdu.body else { return }
      let after = login.after == Version2.Login.acknowledged ? 0 : login.after
      afters.withLock { $0.append(after) }
      session.welcome(pdu, after: after)
      for position in after + 1...after + 3 {
        let header = PDU.Message(time: position, recipient: user, to: user, from: sender)
        session.send(
          .message(header, at: position), [1], isTampered: position == after + 3 && after < 6)
      }
    }
    try await with(service) { device in
      var positions: [UInt64] = []
      for await entry in device.entries {
        positions.append(entry.cursor.position)
        if positions.count == 9 { break }
      }
      #expect(positions == Array(1...9))
      #expect(afters.withLock { $0 } == [0, 2, 4, 6])
    }
  }

  @Test func aRefusalSaysWhy() async throws {
    let service = ScriptedVersion2Service { session, pdu, _ in
      guard case .login = pdu.body else { return }
      // The first time the service has trouble.
      let code: ErrorCode = session.number == 1 ? .internalError : .notFound
      session.send(
        .answer(Version2.Answer(to: pdu.type, request: pdu.request, .failure(code))))
      session.socket.close(1008)
    }
    try await withServer(service) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))/siren"))
      let device = try Device(
        keys: keys, service: ServicePin(service.identity), url: url,
        options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.accountRefused(.notFound)) { try await device.run() }
      #expect(service.ephemeralKeys.count == 2)
    }
  }
}
