internal import Glibc
internal import ServiceKit

/// A project of the official tool: a folder with the source, what the tool has built of it, and the author's key.
struct ProjectFolder: Sendable {
  /// The path of the folder, without a slash at its end.
  let path: String

  /// Makes a project of a path, or returns nil if no folder is there.
  init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
  }

  /// The file that `tokenscript build` writes.
  var build: String { "\(path)/out/tokenscript.tsml" }
  /// The file that `tokenscript sign` and `awd repo sign` write.
  var signed: String { "\(path)/out/tokenscript.signed.tsml" }

  /// The author's key, or nil if there is none.
  var key: String? { Self.existing("\(path)/ts-signing.key") }
  /// The author's certificate, or nil if there is none.
  var certificate: String? { Self.existing("\(path)/ts-certificate.pem") }

  /// Returns the path of the file to be signed.
  ///
  /// - Throws: ``CommandError`` if nothing is built.
  func unsignedFile() throws(CommandError) -> String {
    if let built = Self.existing(build) { return built }
    throw .refused(
      "\(path): nothing is built; run tokenscript build there, which writes \(build)".printable)
  }

  /// Returns the path of the signed file.
  ///
  /// - Throws: ``CommandError`` if nothing is signed, or nothing is built.
  func signedFile() throws(CommandError) -> String {
    if let signed = Self.existing(signed) { return signed }
    let built = try unsignedFile()
    throw .refused("\(built) is not signed; sign it: awd repo sign '\(path)'".printable)
  }

  private static func existing(_ path: String) -> String? {
    unsafe access(path, F_OK) == 0 ? path : nil
  }
}

extension CommandFile {
  /// Makes the signed file that a path means: the file itself, or that of a project folder.
  ///
  /// - Throws: ``CommandError`` for a project without a signed file.
  init(signed path: String) throws(CommandError) {
    self.init(try ProjectFolder(path)?.signedFile() ?? path)
  }
}
