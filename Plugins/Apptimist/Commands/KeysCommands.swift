internal import ApptimistProtocol
internal import Cryptography
internal import ServiceKit
internal import Storage

/// `awd keys show`.
struct KeysShowCommand: Command {
  static let name = "keys show"
  static let summary = "Show the public half of the Apptimist service's keys"
  static let parameters = [CommandParameter.configuration, .json]

  static func run(_ context: CommandContext) async throws {
    let configuration = try context.configuration(for: ApptimistService.self)
    let keys: ServiceKeys
    do throws(KeyFile.Failure) {
      keys = try KeyFile(path: configuration.keys).existing()
    } catch {
      throw CommandError.refused("\(error); `awd keys new` or the first `awd serve` makes them")
    }
    // With the proof of version 2, so that an app that ships this document accepts no older one.
    let document = ServiceDocument(
      service: configuration.name, identity: keys.identity, signedWith: keys.authentication)
    try context.print(json: document) {
      context.print("service             \(configuration.name)")
      context.print("encryption key      \(keys.identity.encryptionKey.hex)")
      context.print("authentication key  \(keys.identity.authenticationKey.hex)")
      context.print("signature           \(keys.identity.signature.hex)")
    }
  }
}

/// `awd keys new`.
struct KeysNewCommand: Command {
  static let name = "keys new"
  static let summary = "Make the Apptimist service's keys; those that exist are never overwritten"
  static let parameters = [CommandParameter.configuration]

  static func run(_ context: CommandContext) async throws {
    let service = try await context.serviceContext(for: ApptimistService.self, onlyToRead: true)
    let file = KeyFile(path: try context.configuration(for: ApptimistService.self).keys)
    if try file.read() == nil,
      try await service.store.keyFingerprints()["\(ApptimistService.name).keys"] != nil
    {
      throw CommandError.refused(
        "accounts in the store are bound to keys that aren't at \(file.path): put them back from a "
          + "backup (awd restore --keys FILE); if they are lost for good, type awd keys replace first"
      )
    }
    try service.makeDataFolder()
    guard try file.make() else {
      throw CommandError.refused(
        "\(file.path) exists: devices are bound to these keys, so they are never overwritten")
    }
    context.print("made \(file.path)")
  }
}
