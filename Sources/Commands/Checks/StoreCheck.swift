internal import Configuration
internal import Glibc
internal import Platform
internal import ServiceKit
internal import Storage

/// Checks the store for `awd check`: whether it is whole and fits this program, and whether the disk has room.
enum StoreCheck {
  /// The free space below which writes will soon fail, in bytes.
  private static let scarce = 256 << 20

  /// Checks everything, and changes nothing. A server may use the store meanwhile.
  ///
  /// - Parameter services: all services that are built in.
  /// - Returns: one finding for each thing.
  static func findings(
    _ configuration: LoadedConfiguration, _ services: [any Service.Type]
  ) async -> [ContentFinding] {
    if case .postgreSQL(let address) = configuration.store {
      let contents = await configuration.contentDigests(of: configuration.services(among: services))
      return DatabaseCheck.findings(address, configuration.server, services, contents)
    }
    guard let path = configuration.server.store.path else { return [] }
    let lack = rights(toWrite: path).map { ContentFinding.wrong($0) }
    return [content(path, services), lack, freeSpace(at: path)].compactMap(\.self)
      + keys(path, configuration, services)
  }

  /// Checks whether the files of keys are those that the store depends on.
  private static func keys(
    _ path: String, _ configuration: LoadedConfiguration, _ services: [any Service.Type]
  ) -> [ContentFinding] {
    guard DataFolder.exists(path), var known = try? Store.keyFingerprints(inFile: path) else {
      return []
    }
    let files = KeyFiles(
      paths: configuration.keyFiles(of: configuration.services(among: services)))
    let renewals = files.renewals(comparedWith: known)
    for name in renewals { known[name] = nil }
    return renewals.map { .doubtful(files.renewalWarning($0)) }
      + files.problems(comparedWith: known).map { .wrong($0) }
  }

  private static func content(_ path: String, _ services: [any Service.Type]) -> ContentFinding {
    guard unsafe access(path, F_OK) == 0 else { return .good("\(path): `awd serve` will make it") }
    do {
      let pending = try Store.check(path, migrations: services.migrations)
      return .good("\(path): whole; \(schema(lacking: pending))")
    } catch { return .wrong("\(path): \(advice(on: error))") }
  }

  /// Whether there is a file that this user may not write. A disk that is read-only has a finding of its own.
  private static func isWriteProtected(_ file: String) -> Bool {
    guard DataFolder.exists(file) else { return false }
    return unsafe access(file, W_OK) != 0 && errno != EROFS
  }

  /// Says which of the store's files this user may not write, and what to do; nil if there are none.
  private static func rights(toWrite path: String) -> String? {
    let files = StoreLocation.files(of: path).filter(isWriteProtected)
    guard !files.isEmpty else { return nil }
    let user = DataFolder.currentUser
    let list = files.joined(separator: " ")
    return "user \(user) may not write \(files.joined(separator: ", ")); as root: "
      + "chown \(user) \(list) && chmod u+w \(list)"
  }

  /// Says whether a schema is the program's.
  static func schema(lacking steps: Int) -> String {
    steps == 0
      ? "its schema is this program's"
      : "`awd serve` will apply \(steps) steps to its schema"
  }

  /// Returns the text of an error of the store, with the way out of it.
  ///
  /// - Parameter path: the store's file, if it is known and may be what can't be written.
  static func advice(on error: any Error, at path: String? = nil) -> String {
    guard let error = error as? StoreError else { return "\(error)" }
    if error.code == .readOnly, let path, let advice = rights(toWrite: path) {
      return "\(error); \(advice)"
    }
    if error.code == .ioError, let advice = advice(onConnecting: error.message) {
      return "\(error); \(advice)"
    }
    if error.code == .full {
      return "\(error); make room on \(error.isOfDisk ? "the" : "PostgreSQL's") disk"
    }
    guard error.code == .corrupt else { return "\(error)" }
    return
      "\(error); keep the damaged file and the -wal and -shm files beside it, move them away, and put "
      + "a backup in their place: awd restore FILE"
  }

  /// Returns the way out where PostgreSQL or libpq refuses a connection, if the words tell it.
  private static func advice(onConnecting message: String) -> String? {
    if message.contains("password") {
      return "the password of PostgreSQL's user has to be in the file that AWD_STORE_PASSWORD_FILE "
        + "names, or in ~/.pgpass"
    }
    if message.contains("certificate verify failed") {
      return "PostgreSQL's certificate has expired, or comes from no root of the file that "
        + "sslrootcert names in store.url"
    }
    return nil
  }

  /// Finds whether the store's disk is nearly full; nothing if it can't be told.
  private static func freeSpace(at path: String) -> ContentFinding? {
    var folder = DurableFile.folder(of: path)
    while unsafe access(folder, F_OK) != 0, folder != "/", folder != "." {
      folder = DurableFile.folder(of: folder)
    }
    guard let space = DiskSpace(at: folder) else { return nil }
    if space.isReadOnly { return .wrong("disk: \(folder) is read-only") }
    let megabytes = space.freeBytes >> 20
    return megabytes >= scarce >> 20
      ? .good("disk: \(megabytes) MiB are free at \(folder)")
      : ContentFinding(
        megabytes == 0 ? .wrong : .doubtful, "disk: only \(megabytes) MiB are free at \(folder)")
  }
}
