internal import COpenSSL
internal import CXML
internal import CXMLSec

/// A document in memory, read from bytes under limits.
///
/// A document is confined to one thread, which makes, verifies, validates and reads it. Different threads may use
/// different documents.
@safe public final class XMLDocument {
  let pointer: xmlDocPtr
  private let rootPointer: xmlNodePtr
  /// The number of bytes that the document was read from.
  let size: Int
  /// The place for a new last child of the root.
  let rootEnd: MarkupScanner.RootEnd

  /// Reads a document.
  ///
  /// Only XML's five entities are known, a document type declaration is an error, and nothing is included or fetched.
  ///
  /// - Parameters:
  ///   - bytes: a whole document in UTF-8, with or without a byte order mark.
  /// - Throws: ``XMLError``.
  public init(parsing bytes: [UInt8], limits: XMLLimits = .standard) throws(XMLError) {
    guard bytes.count <= limits.bytes else {
      throw XMLError(.tooLarge, "\(bytes.count) bytes; at most \(limits.bytes) are read")
    }
    guard !bytes.isEmpty else { throw XMLError(.malformed, "the file is empty") }
    let scanner = try MarkupScanner(bytes, limits: limits)

    XMLLibrary.start()
    let run = ParserRun(limits: limits)
    let parsed = unsafe run.parse(bytes)
    guard run.error == nil, let document = unsafe parsed,
      let root = unsafe xmlDocGetRootElement(document), let rootEnd = scanner.rootEnd
    else {
      if let document = unsafe parsed { unsafe xmlFreeDoc(document) }
      throw run.error ?? XMLError(.malformed, "not well-formed XML")
    }
    unsafe pointer = document
    unsafe rootPointer = root
    size = bytes.count
    self.rootEnd = rootEnd
  }

  deinit { unsafe xmlFreeDoc(pointer) }

  /// The root element.
  public var root: XMLElement { unsafe XMLElement(rootPointer, in: self) }
}

/// A run of libxml2's parser, whose callbacks enforce the limits and record the first error.
private final class ParserRun {
  private let limits: XMLLimits
  private var nodes = 0
  private var nodesOutsideRoot = 0
  private(set) var error: XMLError?

  init(limits: XMLLimits) { self.limits = limits }

  /// Parses a document, which the caller frees.
  func parse(_ bytes: [UInt8]) -> xmlDocPtr? {
    guard let context = unsafe xmlNewParserCtxt() else {
      error = XMLError(.malformed, "out of memory")
      return nil
    }
    defer { unsafe xmlFreeParserCtxt(context) }
    unsafe context.pointee._private = Unmanaged.passUnretained(self).toOpaque()
    if let handler = unsafe context.pointee.sax {
      unsafe handler.pointee.internalSubset = { context, _, _, _ in
        unsafe ParserRun.of(context)?.refuse(
          .doctype, in: context, "a document type declaration is not allowed")
      }
      unsafe handler.pointee.startElementNs = {
        context, name, prefix, uri, namespaceCount, namespaces, attributeCount, defaulted, values in
        guard
          let run = unsafe ParserRun.of(context),
          unsafe run.admitElement(
            in: context, attributes: Int(attributeCount), namespaces, count: Int(namespaceCount))
        else { return }
        unsafe xmlSAX2StartElementNs(
          context, name, prefix, uri, namespaceCount, namespaces, attributeCount, defaulted, values)
      }
      unsafe handler.pointee.comment = { context, text in
        if unsafe ParserRun.of(context)?.admitNode(in: context) == true {
          unsafe xmlSAX2Comment(context, text)
        }
      }
      unsafe handler.pointee.processingInstruction = { context, target, data in
        if unsafe ParserRun.of(context)?.admitNode(in: context) == true {
          unsafe xmlSAX2ProcessingInstruction(context, target, data)
        }
      }
      unsafe handler.pointee.serror = { context, error in
        guard let error = unsafe error?.pointee, unsafe error.level.rawValue >= 2 else { return }
        let message = unsafe error.message.map { unsafe String(cString: $0) } ?? "malformed"
        unsafe ParserRun.of(context)?.refuse(
          .malformed, in: context, line: Int(error.line), message)
      }
    }
    // CDATA sections become text, as in canonical XML, and line numbers exceed 65,535.
    let options =
      XML_PARSE_NONET.rawValue | XML_PARSE_NOCDATA.rawValue
      | XML_PARSE_IGNORE_ENC.rawValue | XML_PARSE_BIG_LINES.rawValue | XML_PARSE_COMPACT.rawValue
    let document = unsafe bytes.withUnsafeBytes { buffer in
      unsafe xmlCtxtReadMemory(
        context, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), nil,
        nil, Int32(options))
    }
    if error == nil, unsafe context.pointee.wellFormed == 0 || context.pointee.nsWellFormed == 0 {
      error = XMLError(.malformed, "not well-formed XML")
    }
    return unsafe document
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> ParserRun? {
    unsafe context?.assumingMemoryBound(to: xmlParserCtxt.self).pointee._private.map {
      unsafe Unmanaged<ParserRun>.fromOpaque($0).takeUnretainedValue()
    }
  }

  /// Records the first error and ends the parsing.
  private func refuse(
    _ code: XMLError.Code, in context: UnsafeMutableRawPointer?, line: Int? = nil,
    _ message: String
  ) {
    let parser = unsafe context?.assumingMemoryBound(to: xmlParserCtxt.self)
    if error == nil {
      let here = unsafe parser?.pointee.input.map { unsafe Int($0.pointee.line) }
      let words = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      error = XMLError(code, line: line ?? here, words)
    }
    unsafe xmlStopParser(parser)
  }

  private func admitNode(in context: UnsafeMutableRawPointer?, attributes: Int = 0) -> Bool {
    nodes += 1 + attributes
    guard nodes <= limits.nodes else {
      unsafe refuse(.tooMany, in: context, "more than \(limits.nodes) elements and attributes")
      return false
    }
    let depth = unsafe context?.assumingMemoryBound(to: xmlParserCtxt.self).pointee.nodeNr
    guard depth == 0 else { return true }
    nodesOutsideRoot += 1
    guard nodesOutsideRoot <= limits.nodesOutsideRoot else {
      unsafe refuse(.tooMany, in: context, "too many comments outside the root")
      return false
    }
    return true
  }

  private func admitElement(
    in context: UnsafeMutableRawPointer?, attributes: Int,
    _ namespaces: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?, count: Int
  ) -> Bool {
    guard let parser = unsafe context?.assumingMemoryBound(to: xmlParserCtxt.self).pointee,
      unsafe admitNode(in: context, attributes: attributes)
    else { return false }
    guard unsafe Int(parser.nodeNr) < limits.depth else {
      unsafe refuse(.tooDeep, in: context, "more than \(limits.depth) levels of elements")
      return false
    }
    // libxml2 stores the prefix and the URI of each declaration in scope side by side.
    guard unsafe Int(parser.nsNr) / 2 <= limits.namespaces else {
      unsafe refuse(.tooMany, in: context, "more than \(limits.namespaces) namespaces in scope")
      return false
    }
    guard let namespaces = unsafe namespaces else { return true }
    for index in 0..<count {
      let length = unsafe xmlStrlen(namespaces[2 * index + 1])
      guard Int(length) <= limits.namespaceLength else {
        unsafe refuse(.tooMany, in: context, "a namespace of \(length) bytes")
        return false
      }
    }
    return true
  }
}

/// The reason why a document can't be read.
public struct XMLError: Error, Sendable, Hashable {
  /// The kind of reason, for programs.
  public enum Code: Sendable, Hashable {
    /// Not well-formed XML, which includes empty and truncated files.
    case malformed
    /// Too many bytes.
    case tooLarge
    /// Too many levels.
    case tooDeep
    /// Too many of the other items that ``XMLLimits`` counts.
    case tooMany
    /// Bytes that are not UTF-8, or another declared encoding.
    case encoding
    /// A document type declaration.
    case doctype
  }

  /// The kind of reason.
  public let code: Code
  /// The line, from 1, or nil if it is not known.
  public let line: Int?
  /// The reason in words.
  public let message: String

  init(_ code: Code, line: Int? = nil, _ message: String) {
    self.code = code
    self.line = line
    self.message = message
  }
}

extension XMLError: CustomStringConvertible {
  /// The reason in words, with the line.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}

/// The limits of a document, which are checked while it is read.
///
/// Besides the size these are counts in which libxml2 and canonicalization are quadratic, or which they multiply. Without
/// them a file of a few megabytes could keep a core busy for minutes.
public struct XMLLimits: Sendable, Hashable {
  /// The size of the file in bytes.
  public var bytes: Int
  /// The number of levels of elements, the root's included.
  public var depth: Int
  /// The number of attributes and namespace declarations of one element.
  public var attributes: Int
  /// The number of namespace declarations in scope at one element.
  public var namespaces: Int
  /// The length of a namespace's URI in bytes.
  public var namespaceLength: Int
  /// The number of elements, attributes, comments and processing instructions together.
  public var nodes: Int
  /// The number of comments and processing instructions outside the root.
  public var nodesOutsideRoot: Int

  /// The limits of TokenScripts: 8 MiB, 64 levels, and a hundred times the counts of the largest real file.
  public static let standard = XMLLimits(
    bytes: 8 << 20, depth: 64, attributes: 256, namespaces: 32, namespaceLength: 200,
    nodes: 200_000, nodesOutsideRoot: 64)
}

/// The process-wide state of libxml2 and libxmlsec1, which is set up once.
///
/// After the start neither library opens a file or a connection by itself, nor writes to standard error: libxml2's input
/// callbacks are removed, its entity loader opens only the schemas that ``SchemaSource`` allows, and errors go to the
/// caller.
enum XMLLibrary {
  /// Starts both libraries; the second and later calls cost one atomic load.
  static func start() { precondition(hasStarted, "libxml2 and libxmlsec1 do not fit each other") }

  private static let hasStarted: Bool = {
    xmlInitParser()
    guard xmlSecInit() == 0, xmlSecOpenSSLInit() == 0 else { return false }
    xmlSchemaInitTypes()

    xmlSecIOCleanupCallbacks()
    xmlRegisterDefaultInputCallbacks()
    while xmlPopInputCallbacks() >= 0 {}
    unsafe xmlSetExternalEntityLoader { address, _, context in
      unsafe SchemaSource.open(address, for: context)
    }

    unsafe xmlSecErrorsSetCallback { _, _, _, _, _, _, _ in }
    cxml_silence_generic_errors()
    unsafe xmlSetStructuredErrorFunc(nil) { _, _ in }
    unsafe xmlThrDefSetStructuredErrorFunc(nil) { _, _ in }
    return true
  }()
}
