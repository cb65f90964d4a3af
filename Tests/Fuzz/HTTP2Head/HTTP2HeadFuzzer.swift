internal import Fuzzing
internal import HTTPProtocol

/// Gathers the head of an HTTP/2 request of these bytes: a head is taken or refused, nothing else, and its fields are those
/// that came.
///
/// The first byte says whether a body follows; each line after it is a field, its name before the first blank. The name is
/// in lower case, as nghttp2 demands before.
@main enum HTTP2HeadFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    let hasBody = (bytes.first ?? 0) % 2 == 1
    let fields = bytes.dropFirst().split(separator: UInt8(ascii: "\n")).map { line in
      let name = line.prefix { $0 != UInt8(ascii: " ") }
      return (name: name.map(lowercase), value: Array(line.dropFirst(name.count + 1)))
    }
    let first = head(fields, hasBody)
    precondition(head(fields, hasBody) == first)
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
  }

  /// The digest of the head, or the status of the refusal.
  private static func head(_ fields: [(name: [UInt8], value: [UInt8])], _ hasBody: Bool) -> String {
    var collector = RequestHeadCollector(limits: RequestParser.Limits())
    var size = 0
    for (name, value) in fields {
      collector.add(name: name.span.bytes, value: value.span.bytes)
      size += name.count + value.count + 32
      precondition(collector.size == size)
    }
    do throws(RequestFailure) {
      let head = try collector.finish(hasBody: hasBody)
      let regular = fields.filter { $0.name.first != UInt8(ascii: ":") }
      var count = 0
      head.forEachField { name, value in count += 1 }
      precondition(count <= regular.count)
      return head.digest
    } catch {
      precondition((400...599).contains(error.status.code))
      return "\(error.status.code)"
    }
  }
}
