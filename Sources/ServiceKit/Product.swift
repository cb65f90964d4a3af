/// The name and the version of the program.
public enum Product {
  /// The name, which is the program's file name too.
  public static let name = "awd"
  /// The version, as Semantic Versioning 2.0.0 writes it.
  public static let version = "0.1.0"
}
