internal import Cryptography
internal import Glibc
internal import HTTPProtocol
internal import Platform
internal import XMLSecurity

/// The cache can't be read or written.
public struct TokenScriptCacheError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The path of the file or folder, and its problem in words.
  public let description: String

  init(_ path: String, _ problem: String) { description = "\(path): \(problem)" }

  init(_ path: String, _ error: SystemError) { self.init(path, "\(error)") }
}

/// The files that a wallet keeps: `FOLDER/<network>/<address as the wallet spells it>.xml`.
///
/// A file's time is the repository's `Last-Modified`, in UTC as file systems keep it, wherever the phone is. Authors
/// replace a file here by their own to test it. A hidden file beside it says where it was downloaded, and of which bytes.
struct TokenScriptCache: Sendable {
  /// A cached file as it was found.
  struct Entry {
    /// The facts on which the exchange decides.
    let file: TokenScriptExchange.LocalFile
    /// The location where these bytes were downloaded, or nil if that isn't known, as for an author's own file.
    let location: String?
    /// The identity of the file, which differs for another in its place.
    fileprivate let stamp: Stamp
  }

  fileprivate struct Stamp: Equatable {
    let inode: UInt64
    let seconds: Int
    let nanoseconds: Int

    init(_ status: stat) {
      inode = UInt64(status.st_ino)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
    }
  }

  /// The path of the cache's folder, which is made if it is missing.
  let folder: String

  /// Returns the path of a contract's file. Nothing but a number, `0x` and hexadecimal digits is added to the folder.
  func path(for request: TokenScriptRequest) -> String {
    "\(folder)/\(request.network)/\(request.spelling).xml"
  }

  /// Looks for a contract's file.
  ///
  /// - Parameter request: the contract.
  /// - Returns: the file, or nil if there is none.
  /// - Throws: ``TokenScriptCacheError`` if there is something else, or the file can't be read.
  func entry(for request: TokenScriptRequest) throws(TokenScriptCacheError) -> Entry? {
    let path = path(for: request)
    let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw TokenScriptCacheError(path, SystemError(errno))
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw TokenScriptCacheError(path, SystemError(errno))
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw TokenScriptCacheError(path, "not a file")
    }
    let bytes = Self.read(descriptor, Int(status.st_size))
    let document = try? XMLDocument(parsing: bytes)
    let namespace = document?.root.namespace.flatMap { TokenScriptNamespace(uri: $0) }
    return Entry(
      file: TokenScriptExchange.LocalFile(
        modified: HTTPDate(Int64(status.st_mtim.tv_sec)), namespace: namespace,
        isOtherSigners: Self.isSigned(document, byOtherThan: request.signer)),
      location: location(of: bytes, for: request),
      stamp: Stamp(status))
  }

  /// Returns whether a local file is certainly another signer's. An author may not have signed the own file yet.
  private static func isSigned(_ document: XMLDocument?, byOtherThan signer: String?) -> Bool {
    guard let signer, let document, let last = try? SignatureVerifier().verify(document).last else {
      return false
    }
    return !last.isSigned(by: signer)
  }

  /// Puts a file in its place, whole or not at all, even if the power fails.
  ///
  /// - Parameters:
  ///   - bytes: the file, verified.
  ///   - request: the contract.
  ///   - modified: the file's time.
  ///   - location: the location where it was downloaded.
  ///   - entry: the file that was found before. A different file by now is somebody's work, and stays.
  /// - Throws: ``TokenScriptCacheError``; then the cache is unchanged.
  func store(
    _ bytes: [UInt8], for request: TokenScriptRequest, modified: HTTPDate, at location: String,
    replacing entry: Entry?
  ) throws(TokenScriptCacheError) {
    let path = path(for: request)
    let parent = DurableFile.folder(of: path)
    let temporary = "\(parent)/.\(request.spelling).\(Hex.encode(SecureRandom.bytes(8)))"
    defer { unsafe unlink(temporary) }
    do throws(SystemError) {
      try DurableFile.makeFolder(parent, mode: 0o755)
      try DurableFile.create(temporary, bytes, modified: Int(modified.seconds))
    } catch { throw TokenScriptCacheError(parent, error) }
    var status = stat()
    let found = unsafe stat(path, &status) == 0 ? Stamp(status) : nil
    guard found == entry?.stamp else {
      throw TokenScriptCacheError(path, "changed meanwhile by somebody else; it stays")
    }
    do throws(SystemError) {
      guard unsafe rename(temporary, path) == 0 else { throw SystemError(errno) }
      // The name is as durable as the bytes only after this.
      try DurableFile.sync(parent)
    } catch { throw TokenScriptCacheError(path, error) }
    // Without the record the file counts as its author's own, which keeps it longer than need be.
    let record = "\(SHA256.hash(bytes).hex)\n\(location)\n"
    try? DurableFile.replace(recordPath(for: request), Array(record.utf8))
  }

  private func recordPath(for request: TokenScriptRequest) -> String {
    "\(folder)/\(request.network)/.\(request.spelling).location"
  }

  /// Returns the location where bytes were downloaded, or nil if the record is of others, or there is none.
  private func location(of bytes: [UInt8], for request: TokenScriptRequest) -> String? {
    let path = recordPath(for: request)
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let record = String(decoding: Self.read(descriptor, 8192), as: UTF8.self)
    let lines = record.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 3, lines[0] == SHA256.hash(bytes).hex else { return nil }
    return String(lines[1])
  }

  /// Reads a file up to the size that a wallet takes, or up to the first byte that can't be read.
  private static func read(_ descriptor: Int32, _ size: Int) -> [UInt8] {
    let count = max(0, min(size, TokenScriptAgent.sizeLimit))
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let rest = unsafe UnsafeMutableRawBufferPointer(
          rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        let got = unsafe pread(descriptor, rest.baseAddress, rest.count, filled)
        if got < 0 && errno == EINTR { continue }
        if got <= 0 { break }
        filled += got
      }
    }
  }
}
