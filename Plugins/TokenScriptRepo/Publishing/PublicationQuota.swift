/// The room that all publications in one repository may take.
///
/// Files, bytes and origins are charged to the network that published them, and to the signer. A part of the room is
/// reserved for the owners and deployers of contracts. A published file may be replaced however full the repository is.
enum PublicationQuota {
  /// The used or allowed room.
  struct Usage: Equatable, Sendable {
    /// The number of files, with the marks of withdrawn ones.
    var files = 0
    /// The number of their bytes.
    var bytes = 0
    /// The number of contracts that they name as origins, each on each of its chains.
    var origins = 0

    static func += (left: inout Usage, right: Usage) {
      left.files += right.files
      left.bytes += right.bytes
      left.origins += right.origins
    }

    /// Returns the room of several.
    func times(_ count: Int) -> Usage {
      Usage(files: files * count, bytes: bytes * count, origins: origins * count)
    }

    /// Returns whether there is still room for a file.
    func hasRoom(for file: Usage, within limit: Usage) -> Bool {
      files + file.files <= limit.files && bytes + file.bytes <= limit.bytes
        && origins + file.origins <= limit.origins
    }
  }

  /// The room of a signer or a client.
  static let single = Usage(files: 64, bytes: 64 << 20, origins: 256)
  /// The room of all; the bytes lie in memory too.
  static let inAll = Usage(files: 10_000, bytes: 1 << 30, origins: 10_000)
  /// The part of it for strangers, who are neither owners nor deployers.
  static let strangers = Usage(files: 7500, bytes: 768 << 20, origins: 7500)
  /// The number of digests of files without a signing time at one place of a signer.
  static let digests = 1000
  /// The largest number of origins of a file, each on each of its chains. Real files have ten at most.
  static let originsOfFile = 32
}
