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
