/// What the program calls itself.
enum Version {
  static let name = "awd"
  /// As Semantic Versioning 2.0.0 has it.
  static let number = "0.1.0"
}
