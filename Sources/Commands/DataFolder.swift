internal import ServiceKit
internal import Glibc

/// The folder of everything that the daemon keeps.
enum DataFolder {
  /// Makes the folder and the missing ones above it, readable by this user alone.
  ///
  /// - Throws: ``CommandError`` that says what is wrong with the folder and how to mend it.
  static func prepare(_ path: String) throws(CommandError) {
    var made = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      made += made.isEmpty || made.hasSuffix("/") ? String(part) : "/\(part)"
      if unsafe mkdir(made, 0o700) == 0 || errno == EEXIST || errno == EISDIR { continue }
      // A folder that exists may lie in one that may not be written to.
      if unsafe access(made, X_OK) == 0 { continue }
      throw refusal(path, "cannot make \(made)", errno)
    }
    guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else {
      throw refusal(path, "cannot write there", errno)
    }
  }

  private static func refusal(_ path: String, _ problem: String, _ code: Int32) -> CommandError {
    let reason = unsafe String(cString: strerror(code))
    return .refused(
      "data folder \(path): \(problem): \(reason); "
        + "give it to this user, or choose another folder with `data` in [server]")
  }
}
