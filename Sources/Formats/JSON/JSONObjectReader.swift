internal import CJansson

/// Reads one JSON object (RFC 8259) by jansson, and gives the strings, numbers, truth values and lists of strings
/// among its members.
///
/// Half of a surrogate pair, a number beyond a double, and a name that stands twice in an object are refused, also in
/// values that nobody asks for.
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

  /// The numbers up to which a double has each whole one.
  private static let exact = -9_007_199_254_740_992.0...9_007_199_254_740_992.0

  /// Reads an object.
  ///
  /// - Parameter bytes: the object in UTF-8; blanks around it are allowed.
  /// - Returns: the members in order, or nil unless the bytes are an object, nested at most 2,048 deep, of at most 4,096
  ///   elements.
  package static func members(of bytes: [UInt8]) -> [Member]? {
    guard JSONLimits.allow(bytes) else { return nil }
    // Of a whole number beyond 64 bits jansson makes nothing but a double.
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL)
    let object = unsafe bytes.withUnsafeBytes { bytes in
      unsafe json_loadb(bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, flags, nil)
    }
    guard let object = unsafe object else { return nil }
    defer { unsafe json_decref(object) }
    guard unsafe object.pointee.type == JSON_OBJECT else { return nil }
    var members: [Member] = []
    var place = unsafe json_object_iter(object)
    while let member = unsafe place {
      guard let name = unsafe json_object_iter_key(member),
        let value = unsafe json_object_iter_value(member)
      else { return nil }
      members.append(unsafe Member(name: String(cString: name), value: self.value(value)))
      unsafe place = json_object_iter_next(object, member)
    }
    return members
  }

  private static func value(_ json: UnsafeMutablePointer<json_t>) -> Value {
    switch unsafe json.pointee.type {
    case JSON_STRING: return unsafe text(json).map { .text($0) } ?? .other
    case JSON_REAL:
      let number = unsafe json_real_value(json)
      let whole = exact.contains(number) ? Int64(exactly: number) : nil
      return whole.map { .integer($0) } ?? .fraction(number)
    case JSON_TRUE: return .truth(true)
    case JSON_FALSE: return .truth(false)
    case JSON_NULL: return .null
    case JSON_ARRAY:
      var texts: [String] = []
      for index in unsafe 0..<json_array_size(json) {
        guard let element = unsafe json_array_get(json, index), let text = unsafe text(element)
        else { return .other }
        texts.append(text)
      }
      return .list(texts)
    default: return .other
    }
  }

  private static func text(_ json: UnsafeMutablePointer<json_t>) -> String? {
    guard let bytes = unsafe json_string_value(json) else { return nil }
    let count = unsafe json_string_length(json)
    return unsafe bytes.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
      unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
  }
}
