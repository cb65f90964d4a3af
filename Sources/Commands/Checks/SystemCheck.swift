internal import Configuration
internal import Glibc
internal import Platform
internal import ServiceKit

/// Checks the machine for `awd check`: the data folder, the descriptors, the clock.
enum SystemCheck {
  /// The time when this program's first version was written. No right clock is behind it.
  private static let earliest = Timestamp(seconds: 1_790_000_000)
  /// The descriptors that are no connections: listeners, the store, the log, files being read.
  private static let ownDescriptors = 100

  /// Checks everything, and changes nothing.
  ///
  /// - Parameter environment: the variables that it was read with.
  static func findings(
    _ configuration: LoadedConfiguration, _ environment: [String: String]
  ) -> [ContentFinding] {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return [
      dataFolder(configuration.server.data),
      descriptors(UInt64(limit.rlim_max), connections: configuration.server.limits.connections),
      clock(now: .now()),
    ] + unreadable(configuration, environment) + secrets(configuration, environment)
  }

  /// Finds the files that root could read for this check and the service's user can't: the configuration, and those that
  /// variables name.
  private static func unreadable(
    _ configuration: LoadedConfiguration, _ environment: [String: String]
  ) -> [ContentFinding] {
    let named = configuration.settings.compactMap { setting in
      if case .environment(let name) = setting.origin, name.hasSuffix("_FILE") {
        return environment[name]
      }
      return nil
    }
    let files = Set([configuration.file].compactMap(\.self) + named)
    return files.sorted().compactMap { file in
      guard unsafe access(file, R_OK) != 0 else { return nil }
      let user = DataFolder.currentUser
      let group = DataFolder.currentGroup
      return .wrong(
        "user \(user) may not read \(file): chgrp \(group) \(file) && chmod 640 \(file)")
    }
  }

  /// Doubts files with secrets that everybody on the machine may read: the configuration, and those that variables name.
  static func secrets(
    _ configuration: LoadedConfiguration, _ environment: [String: String]
  ) -> [ContentFinding] {
    let files = Dictionary(grouping: configuration.settings.filter(\.isSecret)) { setting in
      switch setting.origin {
      case .file(let file, _, _): file
      case .environment(let name) where name.hasSuffix("_FILE"): environment[name] ?? ""
      case .environment, .default: ""
      }
    }
    return files.sorted { $0.key < $1.key }.compactMap { file, secrets in
      var status = stat()
      guard unsafe stat(file, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
      let keys = secrets.map(\.key).joined(separator: ", ")
      return .doubtful("\(file): other users may read \(keys); chmod o= \(file)")
    }
  }

  /// Checks the data folder.
  static func dataFolder(_ path: String) -> ContentFinding {
    var status = stat()
    if unsafe stat(path, &status) != 0, errno == ENOENT {
      return .good("data folder \(path): `awd serve` will make it")
    }
    if let problem = DataFolder.problem(at: path) {
      return .wrong("data folder \(path): \(problem)")
    }
    guard status.st_mode & 0o077 == 0 else {
      return .doubtful("data folder \(path): other users may read it; chmod 700 \(path)")
    }
    return .good("data folder \(path): only its owner may read it")
  }

  /// Checks whether enough files and sockets may be open.
  static func descriptors(_ limit: UInt64, connections: Int) -> ContentFinding {
    let needed = UInt64(connections + ownDescriptors)
    return limit >= needed
      ? .good("descriptors: \(limit) for \(quantity(connections, "connection"))")
      : .doubtful(
        "descriptors: \(limit) are too few for \(quantity(connections, "connection")); allow \(needed), "
          + "or lower limits.connections")
  }

  /// Checks that the clock isn't far behind.
  static func clock(now: Timestamp) -> ContentFinding {
    now >= earliest
      ? .good("clock: \(now)")
      : .wrong(
        "clock: it shows \(now), which is in the past; certificates and signing times need the right time"
      )
  }
}
