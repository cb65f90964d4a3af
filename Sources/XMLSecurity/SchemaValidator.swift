internal import Glibc

/// Checks documents against the schemas of a folder (W3C XML Schema 1.0).
///
/// The folder is laid out as `<YYYY>/<MM>/…/tokenscript.xsd`, each with what it imports beside it.
/// All schemas are compiled once, when the folder is opened; nothing comes from the network. One
/// validator serves all threads.
public final class SchemaValidator: Sendable {
  /// What a schema says about a document.
  public enum Verdict: Sendable, Hashable {
    /// The document is valid.
    case valid
    /// It is not; the first problems.
    case invalid([XMLProblem])
    /// There is no schema of that version.
    case noSchema
  }

  /// What is wrong with schemas that could not be compiled, in words; they count as absent.
  public let problems: [String]
  private let schemas: [String: Schema]

  /// The versions that have a schema, as `2020/03`, ascending.
  public var versions: [String] { schemas.keys.sorted() }

  /// Compiles the schemas below a folder.
  ///
  /// - Parameter folder: its path.
  /// - Throws: if there is no such folder.
  public init(folder: String) throws(SchemaError) {
    guard unsafe access(folder, R_OK | X_OK) == 0 else {
      throw SchemaError("the folder \(folder) can't be read")
    }
    var schemas: [String: Schema] = [:]
    var problems: [String] = []
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    let months = Self.matches("[0-9][0-9][0-9][0-9]/[0-9][0-9]", below: prefix)
    for month in months {
      let places = ["/", "/*/", "/*/*/"]
      let files = places.lazy.flatMap { Self.matches("tokenscript.xsd", below: month, $0) }
      guard let file = files.first else { continue }
      do throws(SchemaError) {
        schemas[String(month.dropFirst(prefix.count))] = try Schema(file: file)
      } catch {
        problems.append(error.message)
      }
    }
    self.schemas = schemas
    self.problems = problems
  }

  /// Checks a document.
  ///
  /// - Parameters:
  ///   - document: with its signatures, which the schemas know.
  ///   - version: the schema's, as `2020/03`.
  public func validate(_ document: XMLDocument, version: String) -> Verdict {
    guard let schema = schemas[version] else { return .noSchema }
    let problems = schema.problems(of: document)
    return problems.isEmpty ? .valid : .invalid(problems)
  }

  /// The paths that a pattern names, sorted; only `base` is taken as it is.
  private static func matches(
    _ pattern: String, below base: String, _ between: String = ""
  ) -> [String] {
    let escaped = base.map { "*?[\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    var found = unsafe glob_t()
    defer { unsafe globfree(&found) }
    guard unsafe glob(escaped + between + pattern, 0, nil, &found) == 0 else { return [] }
    return unsafe (0..<Int(found.gl_pathc)).compactMap { index in
      unsafe found.gl_pathv[index].map { unsafe String(cString: $0) }
    }
  }
}
