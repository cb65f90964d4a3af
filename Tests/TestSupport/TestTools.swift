internal import Foundation

/// The tools that `make test` installs from PyPI, as Debian has none of them: a Python with an Ethereum virtual machine,
/// libraries that decrypt and check pushes to browsers and that publish, and axe, which looks for barriers on pages.
package enum TestTools {
  private static let folder = ".build/test-tools"

  /// Returns the path of a program, or nil if it isn't installed or must not run.
  package static func program(_ name: String) -> String? {
    guard OtherPrograms.mayRun else { return nil }
    let path = "\(folder)/bin/\(name)"
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }

  /// The script of axe, or nil if it isn't installed.
  package static let axe: String? = {
    let files = FileManager.default.enumerator(atPath: "\(folder)/lib")
    let found = files?.first { ($0 as? String)?.hasSuffix("/axe.min.js") == true }
    return (found as? String).flatMap {
      try? String(contentsOfFile: "\(folder)/lib/\($0)", encoding: .utf8)
    }
  }()
}
