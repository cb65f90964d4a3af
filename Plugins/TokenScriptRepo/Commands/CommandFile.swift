internal import Glibc
internal import SystemCalls
internal import XMLSecurity

/// A file that a command was told to work on.
struct CommandFile: Sendable {
  /// Its path.
  let path: String

  /// A file by its path.
  ///
  /// - Parameter path: relative to where the command was called.
  init(_ path: String) { self.path = path }

  /// A file by its path, or by the path below the repository's root that `repo list` tells.
  ///
  /// - Parameters:
  ///   - path: relative to where the command was called; if nothing is there, to the root.
  ///   - root: the repository's root.
  init(_ path: String, orIn root: String) {
    let below = "\(root)/\(path)"
    let isBelow = unsafe !path.hasPrefix("/") && access(path, F_OK) != 0 && access(below, F_OK) == 0
    self.path = isBelow ? below : path
  }

  /// The content; blocks on the disk.
  ///
  /// - Throws: ``Refusal`` that says why it can't be read.
  func contents() throws(Refusal) -> [UInt8] {
    do throws(SystemError) {
      // One byte more than may be, so that what is too large is seen to be so.
      return try Descriptor.contents(ofFile: path, limit: XMLLimits.standard.bytes + 1)
    } catch { throw Refusal(reason: "it can't be read", detail: "\(error)") }
  }
}
