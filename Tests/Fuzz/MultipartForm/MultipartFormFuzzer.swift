internal import Fuzzing
internal import HTTPProtocol

/// Reads a form of these bytes: each part lies in the body, and its contents are read again from a form made of them.
///
/// The first line is the `Content-Type`, unless it is empty; the rest is the body.
@main enum MultipartFormFuzzer: Fuzzer {
  private static let usual = "multipart/form-data; boundary=b"

  static func test(_ bytes: [UInt8]) {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    let type = line.isEmpty ? usual : String(decoding: line, as: UTF8.self)
    let body = Array(bytes.dropFirst(line.count + 1))
    do throws(MultipartError) {
      let form = try MultipartForm(contentType: type, body: body)
      precondition(form.parts.count <= MultipartForm.partLimit)
      for part in form.parts {
        precondition(body[part.content.startIndex..<part.content.endIndex] == part.content)
        let isOnly = form.parts.count { $0.name == part.name } == 1
        precondition((form[part.name] != nil) == isOnly)
      }
      if line.isEmpty { checkRoundTrip(form.parts.map(\.content)) }
    } catch {
      precondition(!error.message.isEmpty)
    }
  }

  private static func checkRoundTrip(_ contents: [ArraySlice<UInt8>]) {
    var body: [UInt8] = []
    for (number, content) in contents.enumerated() {
      let head = "--b\r\nContent-Disposition: form-data; name=\"\(number)\"\r\n\r\n"
      body += Array(head.utf8) + content + Array("\r\n".utf8)
    }
    body += Array("--b--".utf8)
    guard let form = try? MultipartForm(contentType: usual, body: body) else {
      preconditionFailure("a form made of parts is none")
    }
    precondition(form.parts.map(\.content) == contents)
    precondition(form.parts.map(\.name) == contents.indices.map(String.init))
  }
}
