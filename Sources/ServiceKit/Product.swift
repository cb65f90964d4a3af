internal import CBuild

/// The name and the version of the program.
package enum Product {
  /// The name, which is the program's file name too.
  package static let name = "awd"
  /// The version, as Semantic Versioning 2.0.0 writes it.
  package static let version = "1.0.0"
  /// The commit that the program was built from, or `unknown` without git.
  package static let commit = unsafe String(cString: build_commit())
  /// The date of that commit, as RFC 3339 writes it, or `unknown`. It isn't the time of the build, which would make two
  /// builds of the same source differ.
  package static let date = unsafe String(cString: build_date())
  /// The name and version of the compiler.
  package static let compiler = unsafe String(cString: build_compiler())

  /// The name, the version, and what it was built from, in one line.
  package static var description: String {
    commit == "unknown"
      ? "\(name) \(version) (built without git)"
      : "\(name) \(version) (commit \(commit), \(date))"
  }
}
