internal import Cryptography
internal import FoundationEssentials
internal import Glibc
internal import Observability
internal import Push
internal import ServiceKit
internal import Storage

/// The files of keys that rows of the store depend on: devices are bound to them, or secrets are sealed with them. A lost
/// one is never replaced silently, as nobody could connect any more.
struct KeyFiles: Sendable {
  /// The files that a start may make anew, as what is bound to them comes back by itself: browsers subscribe again.
  private static let renewable = [PushConfiguration.nameOfWebKey]

  /// The files by the keys of the configuration that name them, such as `apptimist.keys`.
  let paths: [String: String]

  /// What is found at a path.
  private enum FileContent {
    /// A file with this SHA-256.
    case readable(hash: [UInt8])
    /// No file, or one that can't be read.
    case missing

    init(at path: String) {
      guard let content = FileManager.default.contents(atPath: path) else {
        self = .missing
        return
      }
      self = .readable(hash: SHA256.hash([UInt8](content)).bytes)
    }
  }

  /// The SHA-256 of each file that is there and can be read.
  var hashes: [String: [UInt8]] {
    paths.compactMapValues { path in
      guard case .readable(let hash) = FileContent(at: path) else { return nil }
      return hash
    }
  }

  /// Returns those of the files that are gone although a store depends on them, and that a node may make anew if no other
  /// node has them.
  ///
  /// - Parameter known: the store's fingerprints.
  func renewals(comparedWith known: [String: KeyFingerprint]) -> [String] {
    Self.renewable.filter { name in
      guard known[name] != nil, let path = paths[name], !DataFolder.exists(path) else {
        return false
      }
      // One that this user may not see isn't gone.
      return errno == ENOENT
    }
  }

  /// Says what it means that a file is made anew.
  func renewalWarning(_ name: String) -> String {
    "\(name): the file \(paths[name] ?? "") is gone, and a start makes a new key: browsers get no "
      + "pushes until their users open the web app again; to spare them that, put the file back "
      + "from a backup (awd restore --keys FILE) before"
  }

  /// Compares the files with those that a store depends on.
  ///
  /// - Parameter known: the store's fingerprints.
  /// - Returns: a sentence for each file that is lost or another one, with the way out.
  func problems(comparedWith known: [String: KeyFingerprint]) -> [String] {
    paths.sorted { $0.key < $1.key }.compactMap { name, path in
      guard let fingerprint = known[name] else { return nil }
      let problem: String
      switch FileContent(at: path) {
      case .readable(let hash):
        guard hash != fingerprint.sha256 else { return nil }
        problem =
          "the file \(path) isn't the one that data in the store depends on (recorded by node "
          + "\(fingerprint.node))"
      case .missing:
        problem =
          "the file \(path) is missing or can't be read, but data in the store depends on its keys"
      }
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
      let paths = configuration.keyFiles(of: configuration.services(among: context.services))
      let known = try await runtime.store.keyFingerprints()
      let differing = paths.filter { name, path in
        !KeyFiles(paths: [name: path]).problems(comparedWith: known).isEmpty
      }
      let problems = configuration.keyFileProblems(of: differing, context.services)
      guard problems.isEmpty else {
        throw CommandError.refused(
          "nothing is changed, as the server would refuse these files: "
            + problems.joined(separator: "; "))
      }
      guard !differing.isEmpty else {
        return try context.print(json: Report(accepted: [], missing: [])) {
          context.print("nothing differs: the store depends on this machine's files already")
        }
      }
      let (kept, gone) = try await runtime.node.replaceKeys()
      let accepted = kept.filter { differing[$0] != nil }
      let missing = gone.filter { differing[$0] != nil }
      try context.print(json: Report(accepted: accepted, missing: missing)) {
        for name in accepted { context.print("\(name): this machine's file counts from now on") }
        for name in missing { context.print("\(name): the next start makes new keys") }
        context.print("Nodes with other files don't start any more, and devices have to link anew.")
      }
    }
  }
}

extension LoadedConfiguration {
  /// Reads files of keys as those do who use them.
  ///
  /// - Parameters:
  ///   - paths: the files by the keys of the configuration that name them. One that isn't there has no fault.
  ///   - services: all services that are built in.
  /// - Returns: a sentence for each file that can't be read or holds no keys.
  fileprivate func keyFileProblems(
    of paths: [String: String], _ services: [any Service.Type]
  ) -> [String] {
    paths.sorted { $0.key < $1.key }.compactMap { name, path in
      guard DataFolder.exists(path) else { return nil }
      if name == PushConfiguration.nameOfWebKey {
        do { _ = try P256KeyPair.read(from: path) } catch { return "\(name): \(error)" }
        return nil
      }
      for service in services where name.hasPrefix("\(service.name).") {
        let key = String(name.dropFirst(service.name.count + 1))
        if let problem = backedUp(service)?.keyFileProblem(key) { return "\(name): \(problem)" }
      }
      guard FileManager.default.contents(atPath: path) == nil else { return nil }
      return "\(name): \(path) can't be read"
    }
  }
}
