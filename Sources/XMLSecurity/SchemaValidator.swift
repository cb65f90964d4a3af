internal import Glibc

/// Validates documents against the schemas of a folder (W3C XML Schema 1.0).
///
/// The schemas are at `<YYYY>/<MM>/…/tokenscript.xsd`, with their imports beside them, or as the official tool lays them, at
/// `<YYYY>-<MM>/tokenscript.xsd` with imports from there or from `common`. They are compiled when the folder is opened, and
/// nothing comes from the network. All threads may share a validator.
public final class SchemaValidator: Sendable {
  /// The verdict about a document.
  public enum Verdict: Sendable, Hashable {
    /// The document is valid.
    case valid
    /// The document is not valid, for these problems and perhaps more.
    case invalid([XMLProblem])
    /// There is no schema of that version.
    case noSchema
  }

  /// The faults of schemas that can't be compiled, in words; such schemas count as absent.
  public let problems: [String]
  private let schemas: [String: Schema]

  /// The versions with a schema, such as `2020/03`, ascending.
  public var versions: [String] { schemas.keys.sorted() }

  /// Compiles the schemas below a folder.
  ///
  /// - Parameters:
  ///   - version: the only version to compile, such as `2020/03`, or nil for all.
  /// - Throws: ``SchemaError`` if the folder can't be read.
  public init(folder: String, version: String? = nil) throws(SchemaError) {
    guard unsafe access(folder, R_OK | X_OK) == 0 else {
      throw SchemaError("the folder \(folder) can't be read")
    }
    var schemas: [String: Schema] = [:]
    var problems: [String] = []
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    let year = "[0-9][0-9][0-9][0-9]"
    let months =
      Self.matches(version ?? "\(year)/[0-9][0-9]", below: prefix)
      + Self.matches(version?.replacing("/", with: "-") ?? "\(year)-[0-9][0-9]", below: prefix)
    for month in months {
      let version = String(month.dropFirst(prefix.count)).replacing("-", with: "/")
      guard schemas[version] == nil else { continue }
      let places = ["/", "/*/", "/*/*/"]
      let files = places.lazy.flatMap { Self.matches("tokenscript.xsd", below: month, $0) }
      guard let file = files.first else { continue }
      do throws(SchemaError) {
        schemas[version] = try Schema(file: file)
      } catch { problems.append("\(error)") }
    }
    self.schemas = schemas
    self.problems = problems
  }

  /// Validates a document.
  ///
  /// - Parameters:
  ///   - document: a document, with signatures if it has any, as the schemas allow them.
  ///   - version: the version of the schema, such as `2020/03`.
  public func validate(_ document: XMLDocument, version: String) -> Verdict {
    guard let schema = schemas[version] else { return .noSchema }
    let problems = schema.problems(of: document)
    return problems.isEmpty ? .valid : .invalid(problems)
  }

  /// Returns the paths that match a pattern below a base, sorted; the base itself is no pattern.
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
