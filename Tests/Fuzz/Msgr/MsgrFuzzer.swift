internal import Fuzzing
internal import HTTPProtocol
internal import Formats
internal import Platform
internal import Push

@testable import Msgr

/// Reads the fields of a request whose body or header is these bytes, by every rule that fields have: each field is taken or
/// refused by name, and a taken one keeps its rules.
///
/// The first byte chooses the way the fields come: JSON or a form, whichever the body looks like, a form of several parts, or
/// the header.
@main enum MsgrFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    guard let way = bytes.first, let request = request(Array(bytes.dropFirst()), way) else {
      return
    }
    if let members = JSONObjectReader.members(of: request.body) {
      // Blanks around an object change nothing, and a second one behind it makes it none.
      precondition(JSONObjectReader.members(of: [0x20] + request.body + [0x0a]) == members)
      precondition(JSONObjectReader.members(of: request.body + request.body) == nil)
    }
    var fields = (try? PublicationReader.read(request))?.fields
    fields?.complete(with: PublishingParameters(request.head))
    if let publication = try? fields?.publication(
      upTo: 4096, identifier: { String(repeating: "a", count: $0) })
    {
      precondition(
        publication.parts.title?.utf8.count ?? 1 <= PublicationFields.longestTitle)
      precondition((1...4096).contains(publication.text.text.utf8.count))
    }
    let words = String(decoding: request.body, as: UTF8.self)
    _ = DelayWords.moment(words, from: Timestamp(seconds: 1_800_000_000))
    _ = TopicSince(words, now: Timestamp(seconds: 1_800_000_000))
    _ = HeaderText.decode(request.body)
    if case .part(let range) = ByteRange(words, of: 100) {
      precondition(!range.isEmpty && range.upperBound <= 100)
    }
    if let form = URLEncodedForm(request.body[...]) {
      let lenient = URLEncodedForm(lenient: request.body[...])
      precondition(form.pairs.elementsEqual(lenient.pairs, by: ==))
    }
    guard let fields = try? FieldValues(request) else { return }
    for field in FieldID.allCases {
      guard let text = try? fields.text(field) else { continue }
      precondition(fields.has(field))
      if let name = try? UserName(text, in: field) {
        precondition((1...UserName.longest).contains(name.text.utf8.count))
        // NFC is the same when it is made again.
        precondition((try? UserName(name.text, in: field)) == name)
      }
      if let id = try? MsgrMessageID(text, in: field), id.rawValue < Int64.max {
        precondition(id.text == text)
      }
      if let device = try? DeviceID(text) { precondition(!device.text.isEmpty) }
      if let endpoint = try? PushEndpoint(text, allowed: []) {
        precondition(endpoint.text.lowercased().hasPrefix("https://\(endpoint.authority)"))
        precondition(PushEndpoint(stored: text) == endpoint)
      }
      if let origin = WebOrigin(text) {
        precondition(WebOrigin(origin.description) == origin)
        let host = origin.description.split(separator: "//", maxSplits: 1)[1]
        precondition(origin.isOf(host: "\(host)"))
      }
      if let link = MessageLink(text) { precondition(MessageLink(link.text) == link) }
      if let name = try? ClientID(text) { precondition(name.text == text) }
      if let message = try? MessageText(text) { _ = message.text.escapedInJSON }
    }
    _ = try? fields.password(acceptsMisspelling: true)
  }
}

private func request(_ bytes: [UInt8], _ way: UInt8) -> Request? {
  var fields: [(name: [UInt8], value: [UInt8])] = []
  if way & 3 == 0 {
    for line in bytes.split(separator: 0x0a, maxSplits: 20) {
      let parts = line.split(separator: 0x3a, maxSplits: 1, omittingEmptySubsequences: false)
      fields.append((Array(parts[0]), parts.count == 2 ? Array(parts[1]) : []))
    }
  } else if way & 3 == 2 {
    fields = [(Array("Content-Type".utf8), Array("multipart/form-data; boundary=b".utf8))]
  }
  let head = RequestHead(method: .post, path: "/message", fields: fields)
  return head.map {
    Request(head: $0, body: way & 3 == 0 ? [] : bytes, origin: RequestOrigin(peer: ""))
  }
}
