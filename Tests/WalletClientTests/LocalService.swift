internal import Formats
internal import Apptimist
internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import HTTPClient
internal import HTTPServer
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform
internal import WalletClient

/// The service itself, over sockets and a database of its own.
struct LocalService {
  let url: WebSocketURL
  let pin: ServicePin

  /// Starts a device, with a new account if it has a name.
  func device(
    _ name: String?, _ keys: DeviceKeys = .generate(), _ versions: ServicePin.Versions = .version2,
    cursor: DeviceCursor = DeviceCursor(), options: DeviceOptions = ApptimistDeviceTests.quick
  ) throws -> RunningDevice {
    RunningDevice(
      try Device(
        keys: keys, service: ServicePin(pin.identity, versions: versions), url: url,
        account: name.flatMap { NewAccount(name: $0) }, cursor: cursor, options: options), keys)
  }
}

/// A device that runs until the last reference goes.
final class RunningDevice: Sendable {
  let device: Device
  let keys: DeviceKeys
  private let task: Task<Void, any Error>
  private let iterator: DeviceEntries

  private struct Nothing: Error {}

  init(_ device: Device, _ keys: DeviceKeys) {
    self.device = device
    self.keys = keys
    task = Task { try await device.run() }
    iterator = device.entries.makeAsyncIterator()
  }

  deinit { task.cancel() }

  var user: EncryptionPublicKey { device.user }

  func stop() async {
    task.cancel()
    _ = await task.result
  }

  /// Waits until the service knows the account.
  func settle() async throws { _ = try await device.user(user) }

  /// Waits for the device's end, and returns the reason.
  func refusal() async -> DeviceError? {
    if case .failure(let error) = await task.result { error as? DeviceError } else { nil }
  }

  /// Waits for the next message and returns its text.
  func next(forum: EncryptionKeyPair? = nil) async throws -> (DeviceMessage, String) {
    let (message, opened) = try await nextOpened(forum: forum)
    return (message, String(decoding: opened.data, as: UTF8.self))
  }

  func nextOpened(
    forum: EncryptionKeyPair? = nil
  ) async throws -> (DeviceMessage, OpenedMessage) {
    guard case .message(let message)? = await iterator.next() else { throw Nothing() }
    return (message, try await device.open(message, forum: forum))
  }

  func nextEntry() async -> DeviceEntry? { await iterator.next() }

  @discardableResult
  func send(
    _ text: String, to key: EncryptionPublicKey, readsVersion1Only: Bool = false
  ) async throws -> OutgoingMessage {
    let message = try await device.seal(
      Array(text.utf8), to: key, readsVersion1Only: readsVersion1Only)
    try await device.send(message)
    return message
  }
}

/// Runs the service on a folder, at the port of an earlier run if there is one, so that devices find it again.
func withApptimist(
  _ folder: TemporaryFolder? = nil, port: UInt16 = 0, configuration: String = "",
  _ body: (LocalService) async throws -> Void
) async throws {
  let folder = folder ?? TemporaryFolder()
  let text =
    "[apptimist]\nrefusal_min = \"0s\"\nrefusal_max = \"0s\"\nkeys = \"\(folder.path)/keys\"\n"
    + configuration
  let document = try ConfigurationDocument(parsing: Array(text.utf8), file: "/test.toml")
  let store = try await TestStore.open(
    "\(folder.path)/awd.sqlite3", migrations: ApptimistService.migrations)
  let log = Log(level: .error, descriptor: -1)
  let service = try await ApptimistService(
    ServiceContext(
      store: store, log: log, dataFolder: folder.path),
    ApptimistConfiguration(ConfigurationReader(document).section("apptimist")))
  var router = Router(service: ApptimistService.name)
  service.register(on: &router)
  let server = try WebServer(
    options: ServerOptions(endpoints: [.tcp(.loopback, port: port)], threads: 2),
    responder: try RouteTable([router], log: log), report: { _ in })
  try server.start()
  let url = try #require(WebSocketURL("ws://\(server.endpoints[0])/siren"))
  let result: Result<Void, any Error>
  do {
    let pin = try await ServicePin.fetch(from: url, client: try WebClient())
    result = .success(try await body(LocalService(url: url, pin: pin)))
  } catch { result = .failure(error) }
  await server.drain(within: .milliseconds(200))
  await store.close()
  try result.get()
}
