internal import CXML
internal import CXMLSec
internal import Glibc

/// Validates documents against the schemas of a folder (W3C XML Schema 1.0).
///
/// The schemas are at `<YYYY>/<MM>/…/tokenscript.xsd`, with their imports beside them, or as the official tool lays them, at
/// `<YYYY>-<MM>/tokenscript.xsd` with imports from there or from `common`. They are compiled when the folder is opened, and
/// nothing comes from the network. All threads may share a validator.
public final class SchemaValidator: Sendable {
  /// The outcome for a document.
  public enum Outcome: Sendable, Hashable {
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
  public func validate(_ document: XMLDocument, version: String) -> Outcome {
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

/// A compiled XML schema.
@safe final class Schema: Sendable {
  // Changed in init only; each validation keeps its state in a context of its own.
  private nonisolated(unsafe) let pointer: xmlSchemaPtr

  /// Compiles the schema in a file, with imports from the same folder.
  init(file: String) throws(SchemaError) {
    XMLLibrary.start()
    guard let bytes = SchemaSource.read(file) else { throw SchemaError("\(file) can't be read") }
    let problems = Problems()
    let folder = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
    let schema = unsafe SchemaSource.$folder.withValue(folder) {
      unsafe bytes.withUnsafeBytes { content -> xmlSchemaPtr? in
        guard
          let context = unsafe xmlSchemaNewMemParserCtxt(
            content.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(content.count))
        else { return nil }
        defer { unsafe xmlSchemaFreeParserCtxt(context) }
        unsafe xmlSchemaSetParserStructuredErrors(
          context, Problems.add, Unmanaged.passUnretained(problems).toOpaque())
        return unsafe xmlSchemaParse(context)
      }
    }
    guard let schema = unsafe schema else {
      throw SchemaError("\(file): \(problems.list.first?.description ?? "not a schema")")
    }
    unsafe pointer = schema
  }

  deinit { unsafe xmlSchemaFree(pointer) }

  /// Returns the first problems of a document, or none if it is valid.
  func problems(of document: XMLDocument) -> [XMLProblem] {
    let problems = Problems()
    guard let context = unsafe xmlSchemaNewValidCtxt(pointer) else {
      return [XMLProblem(line: nil, message: "out of memory")]
    }
    defer { unsafe xmlSchemaFreeValidCtxt(context) }
    unsafe xmlSchemaSetValidStructuredErrors(
      context, Problems.add, Unmanaged.passUnretained(problems).toOpaque())
    let result = unsafe xmlSchemaValidateDoc(context, document.pointer)
    if result != 0, problems.list.isEmpty {
      return [XMLProblem(line: nil, message: "the schema can't be applied")]
    }
    return result == 0 ? [] : problems.list
  }
}

/// A fault of a document or a schema.
public struct XMLProblem: Sendable, Hashable, CustomStringConvertible {
  /// The line, from 1, or nil if it is not known.
  public let line: Int?
  /// The problem in words.
  public let message: String

  /// The problem in words, with the line.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}

/// The reason why a schema can't be used.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}

/// The problems that libxml2 reports during one call.
private final class Problems {
  /// A number that is enough to correct a file, and limits the cost of hostile files.
  private static let maximum = 20
  private(set) var list: [XMLProblem] = []

  static let add: xmlStructuredErrorFunc = { target, error in
    guard let target = unsafe target, let error = unsafe error?.pointee,
      unsafe error.level.rawValue >= 2
    else { return }
    let problems = unsafe Unmanaged<Problems>.fromOpaque(target).takeUnretainedValue()
    guard problems.list.count < maximum else { return }
    let message = unsafe error.message.map { unsafe String(cString: $0) } ?? "invalid"
    problems.list.append(
      XMLProblem(
        line: unsafe error.line > 0 ? Int(error.line) : nil,
        message: message.split(whereSeparator: \.isWhitespace).joined(separator: " ")))
  }
}

/// The source of the schemas that a schema imports: files in the folder of the importing schema or in the folder `common`
/// beside it, by the last part of the address. libxml2 opens nothing else.
enum SchemaSource {
  /// The folder of the schema that is compiled on this thread, or nil.
  @TaskLocal static var folder: String?

  // Real schemas have about 100 KB.
  private static let maximumSize = 4 << 20

  /// Opens an external entity for libxml2, or returns nil if it is no such file.
  static func open(
    _ address: UnsafePointer<CChar>?, for context: xmlParserCtxtPtr?
  ) -> xmlParserInputPtr? {
    guard let folder, let address = unsafe address,
      let name = unsafe String(cString: address).split(separator: "/").last, name != "..",
      let bytes = read("\(folder)/\(name)") ?? read("\(folder)/../common/\(name)"),
      let buffer = unsafe bytes.withUnsafeBytes({ content in
        unsafe xmlParserInputBufferCreateMem(
          content.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(content.count),
          XML_CHAR_ENCODING_NONE)
      })
    else { return nil }
    guard let input = unsafe xmlNewIOInputStream(context, buffer, XML_CHAR_ENCODING_NONE) else {
      unsafe xmlFreeParserInputBuffer(buffer)
      return nil
    }
    // The input owns its name, by which libxml2 identifies the schema.
    if let copy = unsafe xmlCharStrdup(address) {
      unsafe input.pointee.filename = UnsafeRawPointer(copy).assumingMemoryBound(to: CChar.self)
    }
    return unsafe input
  }

  /// Reads a file, or returns nil if it can't be read or is too large.
  static func read(_ path: String) -> [UInt8]? {
    let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe Glibc.read(file, &chunk, chunk.count)
      guard count >= 0, bytes.count + count <= maximumSize else { return nil }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
    }
  }
}
