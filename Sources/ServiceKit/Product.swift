internal import Synchronization

/// The name and the version of the program.
public enum Product {
  /// The name, which is the program's file name too.
  public static let name = "awd"
  /// The version, as Semantic Versioning 2.0.0 writes it.
  public static let version = "0.1.0"

  private static let runs = Atomic<Bool>(false)

  /// Whether this process is the program, and can be started once more for a part of its work; a test is not.
  public static var isProgram: Bool { runs.load(ordering: .relaxed) }

  /// Takes note that this process is the program.
  public static func becomesProgram() { runs.store(true, ordering: .relaxed) }
}
