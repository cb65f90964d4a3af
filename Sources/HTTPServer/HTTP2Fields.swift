internal import CNghttp2
internal import HTTPProtocol

/// The head of a response as HTTP/2 sends it (RFC 9113 section 8.3.2).
@safe
struct HTTP2Fields {
  private var bytes: [UInt8] = []
  private var fields: [(name: Range<Int>, value: Range<Int>)] = []

  /// The fields that concern one connection, which HTTP/2 has no use for (RFC 9113 section 8.2.2).
  private static let hopByHop: [StaticString] = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
  ]

  /// The head of a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - date: a prepared line as ``HTTPDate/fieldLine`` gives it.
  ///   - headOnly: whether the request was `HEAD`.
  init(_ response: Response, date: [UInt8], headOnly: Bool) {
    bytes.reserveCapacity(date.count + response.fields.bytes.count + 48)
    fields.reserveCapacity(16)
    append(":status", decimal: Int(response.status.code))
    append(lines: date)
    append(lines: response.fields.bytes)
    // The rule of HTTP/1.1: none where the length that `GET` would have is not known.
    if case .pieces = response.body { return }
    if !response.status.forbidsBody, !headOnly || response.body.count > 0 {
      append("content-length", decimal: response.body.count)
    }
  }

  private init(status: Int) { append(":status", decimal: status) }

  /// The head that asks for the body (RFC 9110 section 15.2.1).
  static let interim = HTTP2Fields(status: 100)

  private mutating func append(_ name: StaticString, decimal value: Int) {
    let start = bytes.count
    name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    let middle = bytes.count
    bytes.append(contentsOf: String(value).utf8)
    fields.append((start..<middle, middle..<bytes.count))
  }

  /// Takes lines `Name: value`, each ended by CR LF; names are put in lower case.
  private mutating func append(lines: [UInt8]) {
    let base = bytes.count
    var start = 0
    bytes.append(contentsOf: lines)
    while start < lines.count {
      var colon = start
      while colon < lines.count, lines[colon] != UInt8(ascii: ":") {
        if (0x41...0x5a).contains(lines[colon]) { bytes[base + colon] = lines[colon] | 0x20 }
        colon += 1
      }
      var end = colon
      while end < lines.count, lines[end] != UInt8(ascii: "\r") { end += 1 }
      let name = base + start..<base + colon
      if colon + 2 <= end, !isHopByHop(name) {
        fields.append((name, base + colon + 2..<base + end))
      }
      start = end + 2
    }
  }

  private func isHopByHop(_ name: Range<Int>) -> Bool {
    HTTP2Fields.hopByHop.contains { known in
      known.utf8CodeUnitCount == name.count
        && known.withUTF8Buffer { unsafe bytes[name].elementsEqual($0) }
    }
  }

  /// Lends the fields in nghttp2's form for as long as a closure runs.
  mutating func withNameValues(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    let fields = fields
    return unsafe bytes.withUnsafeMutableBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      return unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) {
        values in
        for (index, field) in fields.enumerated() {
          unsafe values[index] = unsafe nghttp2_nv(
            name: start + field.name.lowerBound, value: start + field.value.lowerBound,
            namelen: field.name.count, valuelen: field.value.count,
            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
        }
        return unsafe body(values.baseAddress, fields.count)
      }
    }
  }
}
