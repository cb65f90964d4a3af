internal import CJansson

/// Reads one JSON object (RFC 8259) by jansson, and gives the strings, numbers, truth values and lists of strings
/// among its members.
///
/// Half of a surrogate pair, a number beyond a double, and a name that stands twice in an object are refused, also in
/// values that the caller ignores.
package enum JSONObjectReader {
  /// The value of a member.
  package enum Value: Equatable, Sendable {
    /// A string.
    case text(String)
    /// A whole number that a double has exactly.
    case integer(Int64)
    /// Another number.
    case fraction(Double)
    /// `true` or `false`.
    case truth(Bool)
    /// A list of strings.
    case list([String])
    /// Anything else.
    case other
    /// `null`.
    case null
  }

  /// A member of the object.
  package struct Member: Equatable {
    package let name: String
    package let value: Value
  }

  /// Reads an object.
  ///
  /// - Parameter bytes: the object in UTF-8; blanks around it are allowed.
  /// - Returns: the members in order, or nil unless the bytes are an object, nested at most 2,048 deep, of at most 4,096
  ///   elements.
  package static func members(of bytes: [UInt8]) -> [Member]? {
    unsafe Jansson.parse(bytes) { json in
      guard unsafe json.pointee.type == JSON_OBJECT else { return nil }
      var members: [Member] = []
      unsafe Jansson.forEachMember(of: json) { name, value in
        members.append(unsafe Member(name: name, value: self.value(value)))
      }
      return members
    }
  }

  private static func value(_ json: UnsafeMutablePointer<json_t>) -> Value {
    switch unsafe json.pointee.type {
    case JSON_STRING: return unsafe Jansson.text(json).map { .text($0) } ?? .other
    case JSON_REAL:
      let number = unsafe json_real_value(json)
      return Jansson.wholeNumber(number).map { .integer($0) } ?? .fraction(number)
    case JSON_TRUE: return .truth(true)
    case JSON_FALSE: return .truth(false)
    case JSON_NULL: return .null
    case JSON_ARRAY:
      var texts: [String] = []
      for index in unsafe 0..<json_array_size(json) {
        guard let element = unsafe json_array_get(json, index),
          let text = unsafe Jansson.text(element)
        else { return .other }
        texts.append(text)
      }
      return .list(texts)
    default: return .other
    }
  }
}

/// The calls of jansson that both readers of JSON share.
enum Jansson {
  /// The numbers up to which a double has each whole one.
  private static let exact = -9_007_199_254_740_992.0...9_007_199_254_740_992.0

  /// Parses an object or a list, and calls a closure with it.
  ///
  /// - Parameter isStrict: whether a name may stand in an object once only; otherwise the last one counts.
  /// - Returns: the closure's result; nil for anything else, and half of a surrogate pair.
  static func parse<Result>(
    _ bytes: [UInt8], isStrict: Bool = true, _ body: (UnsafeMutablePointer<json_t>) -> Result?
  ) -> Result? {
    guard JSONLimits.allow(bytes) else { return nil }
    // Of a whole number beyond 64 bits jansson makes nothing but a double.
    let duplicates = isStrict ? JSON_REJECT_DUPLICATES : 0
    let flags = Int(duplicates | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL)
    let root = unsafe bytes.withUnsafeBytes { bytes in
      unsafe json_loadb(bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, flags, nil)
    }
    guard let root = unsafe root else { return nil }
    defer { unsafe json_decref(root) }
    return unsafe body(root)
  }

  /// Calls a closure with each member of an object, in their order.
  static func forEachMember(
    of json: UnsafeMutablePointer<json_t>,
    _ body: (_ name: String, _ value: UnsafeMutablePointer<json_t>) -> Void
  ) {
    var position = unsafe json_object_iter(json)
    while let member = unsafe position {
      if let name = unsafe json_object_iter_key(member),
        let value = unsafe json_object_iter_value(member)
      {
        unsafe body(String(cString: name), value)
      }
      unsafe position = json_object_iter_next(json, member)
    }
  }

  /// Returns the text of a string, or nil for anything else.
  static func text(_ json: UnsafeMutablePointer<json_t>) -> String? {
    guard let bytes = unsafe json_string_value(json) else { return nil }
    let count = unsafe json_string_length(json)
    return unsafe bytes.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
      unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
  }

  /// Returns a number as a whole one, or nil unless it is one that a double has exactly.
  static func wholeNumber(_ number: Double) -> Int64? {
    exact.contains(number) ? Int64(exactly: number) : nil
  }
}

/// The limits of a JSON text. jansson makes a tree of all elements at once, which costs much more than to count them first.
enum JSONLimits {
  /// The most elements and members of all lists and objects together.
  private static let elements = 4096

  /// Returns whether a text, which need not be JSON, has no more elements than is allowed.
  static func allow(_ bytes: [UInt8]) -> Bool {
    // With fewer bytes it can't have more.
    guard bytes.count > 2 * elements else { return true }
    var count = 0
    var isInString = false
    var isEscaped = false
    for byte in bytes {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"):
        count += 1
        if count > elements { return false }
      default: break
      }
    }
    return true
  }
}
