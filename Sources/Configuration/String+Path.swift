internal import Glibc

extension String {
  /// The path without empty segments, `.`, and each `..` together with the folder before it: `config/../var` is `var`.
  ///
  /// A folder that is a symbolic link stays before `..`: the system would go on from where the link leads.
  var normalizedPath: String {
    let root = hasPrefix("/") ? "/" : ""
    var segments: [Substring] = []
    var isBelowRoot: Bool { segments.isEmpty && !root.isEmpty }
    for segment in split(separator: "/") where segment != "." {
      if segment == "..", isBelowRoot { continue }
      if segment == "..", let folder = segments.last, folder != "..",
        !Self.isLink(root + segments.joined(separator: "/"))
      {
        segments.removeLast()
      } else {
        segments.append(segment)
      }
    }
    let path = root + segments.joined(separator: "/")
    return path.isEmpty && !isEmpty ? "." : path
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }
}
