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
      precondition(isSame(form, inPieces: body, type))
      if line.isEmpty { checkRoundTrip(form.parts.map(\.content)) }
    } catch {
      precondition(!error.message.isEmpty)
      precondition(!isSame(nil, inPieces: body, type))
    }
  }

  /// Returns whether a body that comes in pieces is this form, or for nil any form at all.
  private static func isSame(_ form: MultipartForm?, inPieces body: [UInt8], _ type: String) -> Bool
  {
    guard var reader = try? MultipartReader(contentType: type) else { return false }
    var contents: [[UInt8]] = []
    var names: [String] = []
    for start in stride(from: 0, through: body.count, by: 5) {
      reader.append(Array(body[start..<min(start + 5, body.count)]))
      if start + 5 > body.count { reader.finish() }
      do throws(MultipartError) {
        while let event = try reader.next() {
          switch event {
          case .part(let name, _):
            names.append(name)
            contents.append([])
          case .content(let bytes): contents[contents.count - 1] += bytes
          case .end: break
          }
        }
      } catch { return false }
    }
    guard let form else { return true }
    return form.parts.map(\.name) == names
      && form.parts.elementsEqual(contents) { $0.content == $1[...] }
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
