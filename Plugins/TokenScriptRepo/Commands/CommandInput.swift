internal import Configuration
internal import Ethereum
internal import Glibc
internal import Platform
internal import ServiceKit
internal import XMLSecurity

extension CommandArguments {
  /// Returns the value of an option that must be there.
  ///
  /// - Throws: `.usage` without it.
  func required(_ option: String, _ placeholder: String? = nil) throws(CommandError) -> String {
    guard let value = self[option] else {
      throw .usage("--\(option)\(placeholder.map { " \($0)" } ?? "") is missing")
    }
    return value
  }

  /// Returns the chain that an option names, or nil without it.
  ///
  /// - Throws: `.usage` for another text.
  func chain(_ option: String) throws(CommandError) -> ChainID? {
    guard let text = self[option] else { return nil }
    guard let chain = ChainID(text) else { throw .usage("--\(option): expected a number from 1") }
    return chain
  }

  /// Returns the URL that an option names, or nil without it.
  ///
  /// - Throws: `.usage` for another text, with an example.
  func url(_ option: String, such example: String) throws(CommandError) -> PublicURL? {
    guard let text = self[option] else { return nil }
    guard let url = PublicURL(text) else {
      throw .usage("--\(option): expected a URL such as \(example)")
    }
    return url
  }
}

/// A file that a command works on.
struct CommandFile: Sendable {
  /// The path of the file.
  let path: String
  /// Why it may not be the file that its author means; nil if there is no doubt.
  private(set) var doubt: String?

  /// Makes a file of a path, relative to the working directory.
  init(_ path: String) { self.path = path }

  /// Makes a file of a path, or of a path below the repository's root as `repo list` prints it.
  ///
  /// - Parameters:
  ///   - path: a path relative to the working directory or, if nothing is there, to the root.
  init(_ path: String, orIn root: String) {
    let below = "\(root)/\(path)"
    let isBelow = unsafe !path.hasPrefix("/") && access(path, F_OK) != 0 && access(below, F_OK) == 0
    self.path = isBelow ? below : path
  }

  /// Returns whether the file is below the repository's root, after following links; true for one that doesn't exist.
  func isBelow(_ root: String) -> Bool {
    guard let target = try? realPath(Array(path.utf8)), let top = try? realPath(Array(root.utf8))
    else { return true }
    return target.starts(with: top + [UInt8(ascii: "/")])
  }

  /// Reads a private key, in PEM or in the hexadecimal digits of the official tool; blocks on the disk.
  ///
  /// - Throws: ``CommandError`` if the file can't be read, or is none.
  func privateKey() throws(CommandError) -> PrivateKey {
    do { return try PrivateKey(file: Descriptor.contents(ofFile: path)) } catch {
      throw .refused("\(path): \(error)".printable)
    }
  }

  /// Reads the content; blocks on the disk.
  ///
  /// - Throws: ``FileRefusal`` if the file can't be read.
  func contents() throws(FileRefusal) -> [UInt8] {
    do throws(SystemError) {
      // One byte more than the limit shows that a file is too large.
      return try Descriptor.contents(ofFile: path, limit: XMLLimits.standard.bytes + 1)
    } catch { throw FileRefusal(reason: "it can't be read", detail: "\(error)") }
  }
}

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

  /// What to do about a build that isn't what was signed; nil if the signed file is the later one.
  var staleness: String? {
    guard let built = Self.modified(build), let signed = Self.modified(signed), built > signed
    else { return nil }
    return "\(build) was built after it was signed: sign it again by awd repo sign "
      + path.quotedForShell
  }

  /// Returns when a file was modified; nil if there is none.
  private static func modified(_ path: String) -> (seconds: Int, nanoseconds: Int)? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
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
    let project = ProjectFolder(path)
    self.init(try project?.signedFile() ?? path)
    doubt = project?.staleness
  }
}

extension String {
  /// The text as one word for a shell.
  var quotedForShell: String {
    // By scalars: with an accent behind it a quotation mark is another character.
    unicodeScalars.reduce(into: "'") { $0 += $1 == "'" ? "'\\''" : "\($1)" } + "'"
  }
}
