internal import CTOML

/// A value of a TOML document with its place.
struct TOMLNode: Sendable {
  /// A line and a column, counted from 1. Columns count code points.
  struct Place: Sendable, Equatable, Comparable {
    let line: Int
    let column: Int

    static func < (left: Place, right: Place) -> Bool {
      (left.line, left.column) < (right.line, right.column)
    }
  }

  enum Value: Sendable {
    case table([String: TOMLNode])
    case array([TOMLNode])
    case string(String)
    case integer(Int)
    case float(Double)
    case boolean(Bool)
    case date
  }

  let value: Value
  let place: Place
  /// The place of the key, or of the value itself for the root and for elements of arrays.
  let keyPlace: Place

  /// Returns a table at the same place.
  func holding(_ table: [String: TOMLNode]) -> TOMLNode {
    TOMLNode(value: .table(table), place: place, keyPlace: keyPlace)
  }
}

/// The reason why a document is not TOML, with its place.
struct TOMLError: Error {
  let place: TOMLNode.Place
  let message: String
}

extension TOMLNode {
  /// The largest size of a document, in bytes.
  static let maximumSize = Int(CTOML_MAX_SIZE)

  /// Parses a document.
  ///
  /// - Parameter bytes: the document.
  /// - Returns: its top-level keys.
  /// - Throws: ``TOMLError``.
  static func table(parsing bytes: [UInt8]) throws(TOMLError) -> [String: TOMLNode] {
    let parsed = unsafe bytes.withUnsafeBytes { unsafe ctoml_parse($0.baseAddress, $0.count) }
    guard let document = unsafe parsed else {
      throw TOMLError(place: Place(line: 1, column: 1), message: "out of memory")
    }
    defer { unsafe ctoml_free(document) }
    if let message = unsafe document.pointee.error {
      throw unsafe TOMLError(
        place: Place(document.pointee.error_place), message: String(cString: message).singleLine)
    }
    let nodes = unsafe UnsafeBufferPointer(
      start: document.pointee.nodes, count: document.pointee.count)
    var index = 0
    // The root of a document is a table.
    guard case .table(let table) = unsafe try TOMLNode(nodes, at: &index).value else { return [:] }
    return table
  }

  /// Takes the value at an index with everything in it, and moves the index behind. The recursion is as deep as the
  /// document, which CTOML limits.
  private init(_ nodes: UnsafeBufferPointer<ctoml_node>, at index: inout Int) throws(TOMLError) {
    let node = unsafe nodes[index]
    index += 1
    place = unsafe Place(node.place)
    keyPlace = unsafe node.key == nil ? Place(node.place) : Place(node.key_place)
    switch unsafe node.kind {
    case CTOML_TABLE:
      var table: [String: TOMLNode] = [:]
      for _ in unsafe 0..<node.children {
        let key = unsafe String(nodes[index].key, nodes[index].key_size)
        let child = try unsafe TOMLNode(nodes, at: &index)
        // Two keys that toml++ tells apart by their bytes can be canonically equivalent.
        guard table.updateValue(child, forKey: key) == nil else {
          throw TOMLError(place: child.keyPlace, message: "duplicate key \(key.quoted)")
        }
      }
      value = .table(table)
    case CTOML_ARRAY:
      var array: [TOMLNode] = []
      for _ in unsafe 0..<node.children { array.append(try unsafe TOMLNode(nodes, at: &index)) }
      value = .array(array)
    case CTOML_STRING: value = .string(unsafe String(node.text, node.text_size))
    case CTOML_INTEGER: value = .integer(Int(unsafe node.integer))
    case CTOML_FLOAT: value = .float(unsafe node.real)
    case CTOML_BOOLEAN: value = .boolean(unsafe node.integer != 0)
    default: value = .date
    }
  }
}

extension TOMLNode.Place {
  fileprivate init(_ place: ctoml_place) {
    self.init(line: Int(place.line), column: Int(place.column))
  }
}

extension String {
  /// Makes a string of text without a terminator. Malformed UTF-8 is replaced.
  fileprivate init(_ start: UnsafePointer<CChar>?, _ count: Int) {
    self = unsafe String(
      decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
