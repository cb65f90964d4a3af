/// The name and the version of the program.
package enum Product {
  /// The name, which is the program's file name too.
  package static let name = "awd"
  /// The version, as Semantic Versioning 2.0.0 writes it.
  package static let version = "0.1.0"
}
