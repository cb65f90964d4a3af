internal import Cryptography
internal import FoundationEssentials
internal import Observability
internal import ServiceKit
internal import Storage

/// The files of keys that rows of the store depend on: devices are bound to them, or secrets are sealed with them. A lost
/// one is never replaced silently, as nobody could connect any more.
struct KeyFiles: Sendable {
  /// The files by the keys of the configuration that name them, such as `apptimist.keys`.
  let paths: [String: String]

  /// The SHA-256 of each file; nil for one that isn't there or can't be read.
  var hashes: [String: [UInt8]?] {
    paths.mapValues { path in
      FileManager.default.contents(atPath: path).map { SHA256.hash([UInt8]($0)).bytes }
    }
  }

  /// Compares the files with those that a store depends on.
  ///
  /// - Parameter known: the store's fingerprints.
  /// - Returns: a sentence for each file that is lost or another one, with the way out.
  func problems(comparedWith known: [String: KeyFingerprint]) -> [String] {
    let hashes = hashes
    return paths.sorted { $0.key < $1.key }.compactMap { name, path in
      guard let fingerprint = known[name], let hash = hashes[name], hash != fingerprint.sha256
      else { return nil }
      let problem =
        hash == nil
        ? "the file \(path) is missing or can't be read, but data in the store depends on its keys"
        : "the file \(path) isn't the one that data in the store depends on (recorded by node "
          + "\(fingerprint.node))"
      return
        "\(name): \(problem); put the file back from a backup (awd restore --keys FILE) or from "
        + "another node, or correct the key \(name); if it is lost for good, accept new keys with "
        + "`awd keys replace`"
    }
  }
}

/// `awd keys replace`: has the store depend on this machine's files of keys, as those before are lost.
struct KeysReplaceCommand: Command {
  static let name = "keys replace"
  static let summary =
    "Accept this machine's key files for good where those that the store depends on are lost"
  static let parameters: [CommandParameter] = [.configuration, .json]

  private struct Report: Encodable {
    let accepted: [String]
    let missing: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    try configuration.prepareForCommand(warn: context.warn)
    let runtime = try await ServiceRuntime.open(
      configuration, services: context.services, log: Log(level: .warning))
    try await closing(runtime.close) {
      let (accepted, missing) = try await runtime.node.replaceKeys()
      try context.print(json: Report(accepted: accepted, missing: missing)) {
        for name in accepted { context.print("\(name): this machine's file counts from now on") }
        for name in missing { context.print("\(name): the next start makes new keys") }
        context.print("Nodes with other files don't start any more, and devices have to link anew.")
      }
    }
  }
}
