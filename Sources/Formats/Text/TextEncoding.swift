internal import CICU

/// Text in other encodings than UTF-8, as ICU knows them.
package enum TextEncoding {
  /// The longest name of an encoding.
  private static let longestName = 64

  /// Returns a text whose encoding is told.
  ///
  /// - Parameter name: the name of the encoding, such as `iso-8859-1`, in any case.
  /// - Returns: the text, what is malformed replaced; nil if there is no such encoding.
  package static func decode(_ bytes: some Collection<UInt8>, as name: String) -> String? {
    let name = name.lowercased()
    switch name {
    case "utf-8", "utf8", "us-ascii": return String(decoding: bytes, as: UTF8.self)
    case "iso-8859-1", "latin1": return latin1(bytes)
    default: break
    }
    guard !name.isEmpty, name.utf8.count <= longestName,
      name.utf8.allSatisfy({ $0.isLetterOrDigit || "-_:.+".utf8.contains($0) })
    else { return nil }
    let input = bytes.map { CChar(bitPattern: $0) }
    // No encoding gives more than two code units for a byte.
    let capacity = 2 * input.count + 2
    var length: Int32 = -1
    let units = unsafe [UInt16](unsafeUninitializedCapacity: capacity) { buffer, count in
      length = unsafe cicu_decode(
        name, input, Int32(clamping: input.count), buffer.baseAddress, Int32(clamping: capacity))
      count = Int(max(0, length))
    }
    return length < 0 ? nil : String(decoding: units, as: UTF16.self)
  }

  /// Returns a text in ISO 8859-1, of which each byte is a character.
  package static func latin1(_ bytes: some Collection<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
