internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing
internal import Platform
internal import HTTPClient

@testable import WalletClient

/// The device against a service that misbehaves.
@Suite struct ApptimistDeviceTests {
  private let keys = DeviceKeys.generate()
  private let other = DeviceKeys.generate().user

  static var quick: DeviceOptions {
    var options = DeviceOptions()
    options.retryDelay = .milliseconds(2)
    options.longestRetryDelay = .milliseconds(20)
    return options
  }

  /// Runs a device for the time of a closure.
  private func with(
    _ service: ScriptedService, _ options: DeviceOptions = quick,
    _ body: (Device) async throws -> Void
  ) async throws {
    try await withServer(service) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))/siren"))
      let device = try Device(keys: keys, service: service.pin, url: url, options: options)
      let running = Task { try await device.run() }
      defer { running.cancel() }
      try await body(device)
    }
  }

  @Test func aMessageIsRepeatedUnchangedUntilItIsKnownToBeThere() async throws {
    let copies = Lock<[MessageID]>([])
    let service = ScriptedService { session, pdu, data in
      switch pdu {
      case .searchByKey(let search): session.find(search.key)
      case .message:
        copies.withLock { $0.append(MessageID(header: pdu.encoded(), data: data[...])) }
        // The device can't know whether the service took it.
        if session.number < 3 { session.socket.close(1001) }
      default: break
      }
    }
    try await with(service) { device in
      let message = try await device.seal([1, 2, 3], to: other)
      try await device.send(message)
      #expect(copies.withLock { $0 } == [message.id, message.id, message.id])
      #expect(Set(service.ephemeralKeys).count == 3)
    }
  }

  @Test func aWriteIsNotRepeated() async throws {
    let service = ScriptedService { session, pdu, _ in
      switch pdu {
      case .searchByKey(let search): session.find(search.key)
      case .write: session.socket.close(1001)
      default: break
      }
    }
    try await with(service) { device in
      let name = try #require(Filename("notes"))
      await #expect(throws: DeviceError.interrupted) { try await device.write([1], to: name) }
      let found = try await device.user(other)
      #expect(found?.key == other)
      #expect(service.received.filter { if case .write = $0 { true } else { false } }.count == 1)
    }
  }

  /// One service in two places: the first sends devices to the second.
  @Test func aRedirectIsFollowedWithAFreshKey() async throws {
    let encryption = EncryptionKeyPair.generate()
    let authentication = AuthenticationKeyPair.generate()
    let target = ScriptedService(encryption, authentication) { session, pdu, _ in
      if case .searchByKey(let search) = pdu { session.find(search.key) }
    }
    try await withServer(target) { address in
      let redirect = PDU.Redirect(uri: "ws\(address.dropFirst(4))/elsewhere")
      let service = ScriptedService(encryption, authentication) { session, pdu, _ in
        guard case .searchByKey(let search) = pdu else { return }
        if search.key == session.user {
          session.find(search.key)
        } else if let redirect {
          session.send(.redirect(redirect))
        }
      }
      try await with(service) { device in
        let found = try await device.user(other)
        #expect(found?.key == other)
        #expect(service.ephemeralKeys.count == 1 && target.ephemeralKeys.count == 1)
        #expect(service.ephemeralKeys != target.ephemeralKeys)
      }
    }
  }

  @Test(arguments: ["", "no URI", "http://127.0.0.1/", "ws://127.0.0.1:1/"])
  func aRedirectThatLeadsNowhereIsNoEnd(_ uri: String) async throws {
    let redirect = try #require(PDU.Redirect(uri: uri))
    let service = ScriptedService { session, pdu, _ in
      guard case .searchByKey(let search) = pdu else { return }
      if session.number == 1, search.key != session.user {
        session.send(.redirect(redirect))
      } else {
        session.find(search.key)
      }
    }
    try await with(service) { device in
      let found = try await device.user(other)
      #expect(found?.key == other)
      #expect(Set(service.ephemeralKeys).count == 2)
    }
  }

  @Test(arguments: [UInt16(1008), 1001])
  func aRefusedLoginEndsIt(_ code: UInt16) async throws {
    let service = ScriptedService { session, pdu, _ in
      if case .login = pdu { session.socket.close(session.number == 1 ? code : 1008) }
    }
    try await withServer(service) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))/siren"))
      let device = try Device(
        keys: keys, service: service.pin, url: url, options: Self.quick)
      let request = Task { try await device.user(other) }
      await #expect(throws: DeviceError.refused) { try await device.run() }
      await #expect(throws: DeviceError.self) { try await request.value }
      await #expect(throws: DeviceError.closed) { try await device.user(other) }
      #expect(service.ephemeralKeys.count == (code == 1008 ? 1 : 2))
      for await _ in device.entries { Issue.record("an entry") }
    }
  }

  @Test func anotherServiceThanThePinnedOne() async throws {
    let service = ScriptedService { session, pdu, _ in
      if case .searchByKey(let search) = pdu { session.find(search.key) }
    }
    try await withServer(service) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))/siren"))
      let pinned = ServicePin(
        ServiceIdentity(encryption: .generate(), authentication: .generate()), versions: .either)
      let device = try Device(keys: keys, service: pinned, url: url, options: Self.quick)
      await #expect(throws: DeviceError.refused) { try await device.run() }
      #expect(service.received.isEmpty)
    }
  }

  @Test func requestsTimeOutAndAreCancelled() async throws {
    let service = ScriptedService { session, pdu, _ in
      if case .searchByKey(let search) = pdu, search.key == session.user {
        session.find(search.key)
      }
    }
    var options = Self.quick
    options.requestTimeout = .milliseconds(50)
    try await with(service, options) { device in
      await #expect(throws: DeviceError.timedOut) { _ = try await device.user(other) }
    }
    try await with(service) { device in
      let task = Task { try await device.user(other) }
      task.cancel()
      await #expect(throws: DeviceError.cancelled) { _ = try await task.value }
    }
  }

  /// The device drops a connection on which a reply comes out of turn, and makes another.
  @Test func aConfusedServiceIsLeft() async throws {
    let service = ScriptedService { session, pdu, _ in
      guard case .searchByKey(let search) = pdu else { return }
      if session.number == 1, search.key != session.user {
        session.send(.vouchers(PDU.Vouchers(subject: search.key, vouchers: [])))
      } else {
        session.find(search.key)
      }
    }
    try await with(service) { device in
      let found = try await device.user(other)
      #expect(found?.key == other)
      #expect(service.ephemeralKeys.count == 2)
    }
  }

  /// The device pauses the stream while the app takes too little of it, and loses nothing.
  @Test func theStreamHasBackPressure() async throws {
    let count = 200
    let user = keys.user
    let sender = other
    let progress = Lock((next: 0, isPaused: false))
    let service = ScriptedService { session, pdu, _ in
      func stream() {
        progress.withLock { progress in
          while !progress.isPaused, progress.next < count {
            let header = PDU.Message(
              time: UInt64(progress.next), recipient: user, to: user, from: sender)
            session.send(.message(header), [UInt8](repeating: 1, count: 1000))
            progress.next += 1
            // A little at a time, as a service does while its socket drains.
            if progress.next % 10 == 0 { break }
          }
        }
      }
      switch pdu {
      case .searchByKey(let search):
        session.find(search.key)
        stream()
      case .pause: progress.withLock { $0.isPaused = true }
      case .resume:
        progress.withLock { $0.isPaused = false }
        stream()
      default: break
      }
    }
    var options = Self.quick
    options.streamBuffer = 5000
    try await with(service, options) { device in
      var times: [UInt64] = []
      for await entry in device.entries {
        guard case .message(let message) = entry else { continue }
        times.append(message.time)
        if times.count == count { break }
        // Replies come although the stream is paused.
        _ = try await device.user(other)
      }
      #expect(times == (0..<UInt64(count)).map { $0 })
      #expect(service.received.contains { if case .pause = $0 { true } else { false } })
    }
  }
}
