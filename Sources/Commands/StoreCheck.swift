internal import Configuration
internal import Glibc
internal import ServiceKit
internal import Storage
internal import Platform

/// Checks the store for `awd check`: whether it is whole and fits this program, and whether the disk has room.
enum StoreCheck {
  /// The free space below which writes will soon fail, in bytes.
  private static let scarce = 256 << 20

  /// Checks everything, and changes nothing. A server may use the store meanwhile.
  ///
  /// - Parameters:
  ///   - configuration: names the store.
  ///   - services: all services that are built in.
  /// - Returns: one finding for each thing.
  static func findings(
    _ configuration: LoadedConfiguration, _ services: [any Service.Type]
  ) async -> [ContentFinding] {
    if case .postgreSQL(let address) = configuration.store {
      return DatabaseCheck.findings(address, configuration.server, services)
    }
    guard let path = configuration.server.store.path else { return [] }
    return [content(path, services), freeSpace(at: path)].compactMap(\.self)
  }

  private static func content(_ path: String, _ services: [any Service.Type]) -> ContentFinding {
    guard unsafe access(path, F_OK) == 0 else { return .good("\(path): `awd serve` will make it") }
    do {
      let pending = try Store.check(path, migrations: services.migrations)
      return .good("\(path): whole; \(schema(lacking: pending))")
    } catch { return .wrong("\(path): \(advice(on: error))") }
  }

  /// Says whether a schema is the program's.
  static func schema(lacking steps: Int) -> String {
    steps == 0
      ? "its schema is this program's"
      : "`awd serve` will bring its schema \(steps) steps forward"
  }

  /// Returns the text of an error of the store, with the way out of it.
  ///
  /// - Parameter error: the error.
  static func advice(on error: any Error) -> String {
    guard let error = error as? StoreError else { return "\(error)" }
    if error.code == .ioError, let advice = advice(onConnecting: error.message) {
      return "\(error); \(advice)"
    }
    guard error.code == .corrupt else { return "\(error)" }
    return "\(error); keep the damaged file and the -wal file beside it, move both away, and put a "
      + "backup in their place: awd restore FILE"
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
    var status = statvfs()
    guard unsafe statvfs(folder, &status) == 0 else { return nil }
    let (free, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(
      by: UInt64(status.f_frsize))
    let megabytes = overflows ? UInt64.max >> 20 : free >> 20
    let isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
    if isReadOnly { return .wrong("disk: \(folder) is read-only") }
    return megabytes >= UInt64(scarce >> 20)
      ? .good("disk: \(megabytes) MiB are free at \(folder)")
      : ContentFinding(
        megabytes == 0 ? .wrong : .doubtful, "disk: only \(megabytes) MiB are free at \(folder)")
  }
}
