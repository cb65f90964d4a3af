internal import Testing

@testable import HTTPProtocol

struct MultipartFormTests {
  private static let type = "multipart/form-data; boundary=xyz"
  private static let disposition =
    "Content-Disposition: form-data; name=\"file\"; filename=\"a.xml\""

  private func parts(
    _ body: String, type: String = type
  ) throws(MultipartError) -> [(name: String, fileName: String?, content: String)] {
    try MultipartForm(contentType: type, body: Array(body.utf8)).parts.map {
      ($0.name, $0.fileName, String(decoding: $0.content, as: UTF8.self))
    }
  }

  @Test func partsAreReadByteForByte() throws {
    let content = "<a>\r\n--xy\r\n--\r\n\r--xyz</a>\r\n"
    let parts = try parts(
      "--xyz\r\n\(Self.disposition)\r\nContent-Type: text/xml\r\n\r\n\(content)\r\n--xyz\r\n"
        + "content-disposition:form-data;name=note\r\n\r\n\r\n--xyz--\r\nepilogue")
    #expect(parts.map(\.name) == ["file", "note"])
    #expect(parts.map(\.fileName) == ["a.xml", nil])
    #expect(parts.map(\.content) == [content, ""])
  }

  @Test(arguments: [
    "multipart/form-data; boundary=xyz", "Multipart/Form-Data;BOUNDARY=\"xyz\"",
    "multipart/form-data; charset=utf-8; boundary=xyz ;",
  ])
  func theBoundaryIsATokenOrAQuotedString(type: String) throws {
    let body = "preamble\r\n--xyz \t\r\n\(Self.disposition)\r\n\r\nx\r\n--xyz--"
    #expect(try parts(body, type: type).map(\.content) == ["x"])
  }

  @Test(arguments: [
    ("name=\"file\"; filename=\"a\\\"b\\\\c.xml\"", "a\"b\\c.xml"),
    ("name=\"file\"; filename=\"C:\\dir\\a.xml\"", "C:\\dir\\a.xml"),
    ("name=\"file\"; filename=\"\u{1F600};a=b.xml\"", "\u{1F600};a=b.xml"),
    ("filename=a.xml; name=file", "a.xml"), ("name=file; filename=\"\"", ""), ("name=file", nil),
    ("name=file; filename=\"a%22b.xml\"", "a\"b.xml"),
    ("name=file; filename*=utf-8''%C3%BC.txt", "\u{fc}.txt"),
    ("name=file; filename=\"x.txt\"; filename*=UTF-8'en'%E2%82%AC.txt", "\u{20ac}.txt"),
    ("name=file; filename*=iso-8859-1''%FC.txt; filename=x.txt", "\u{fc}.txt"),
    ("name=file; filename*=utf-8''%FF; filename=x.txt", "x.txt"),
    ("name=file; filename*=koi8-r''%C3; filename=x.txt", "x.txt"),
  ])
  func fileNamesAreReadAsClientsWriteThem(parameters: String, name: String?) throws {
    let body =
      "--xyz\r\nContent-Disposition: form-data; \(parameters)\r\n\r\nx\r\n--xyz--\r\n"
    let part = try #require(
      MultipartForm(contentType: Self.type, body: Array(body.utf8))["file"])
    #expect(part.fileName == name)
  }

  @Test func aFileNameInAnOlderCharsetIsKept() throws {
    let head = Array("--xyz\r\nContent-Disposition: form-data; name=file; filename=\"".utf8)
    let body = head + [0xfc] + Array(".txt\"\r\n\r\nx\r\n--xyz--\r\n".utf8)
    #expect(try MultipartForm(contentType: Self.type, body: body)["file"]?.fileName == "\u{fc}.txt")
  }

  @Test func whatComesTwiceIsNotTheOnlyOne() throws {
    let part = "--xyz\r\n\(Self.disposition)\r\n\r\nx\r\n"
    let form = try MultipartForm(contentType: Self.type, body: Array("\(part)\(part)--xyz--".utf8))
    #expect(form.parts.count == 2)
    #expect(form["file"] == nil)
    #expect(form["other"] == nil)
  }

  @Test(arguments: [
    "", "text/xml", "multipart/mixed; boundary=xyz", "multipart/form-data",
    "multipart/form-data; boundary=", "multipart/form-data; boundary=\"xyz",
    "multipart/form-data; boundary=x z", "multipart/form-data; boundary=xyz; boundary=xyz",
    "multipart/form-data; boundary=\"xyz \"", "multipart/form-data; boundary=\"x\u{e9}z\"",
    "multipart/form-data; boundary=\(String(repeating: "x", count: 71))",
    "multipart/form-data, boundary=xyz",
  ])
  func otherTypesAreRefused(type: String) {
    let body = "--xyz\r\n\(Self.disposition)\r\n\r\nx\r\n--xyz--\r\n"
    #expect(throws: MultipartError.self) { try parts(body, type: type) }
  }

  @Test(arguments: [
    "", "xyz", "--xyz", "--xyz\r\n", "--xyzz\r\n\(disposition)\r\n\r\nx\r\n--xyz--",
    "--xyz\r\n\(disposition)\r\n\r\nx", "--xyz\r\n\(disposition)\r\n\r\nx\r\n--xyz",
    "--xyz\r\n\(disposition)\r\n\r\nx--xyz--", "--xyz\r\n\(disposition)\r\nx\r\n--xyz--",
    "--xyz\n\(disposition)\n\nx\n--xyz--", "--xyz\r\n\r\nx\r\n--xyz--",
    "--xyz\r\nContent-Type: text/xml\r\n\r\nx\r\n--xyz--",
    "--xyz\r\n\(disposition)\r\n\(disposition)\r\n\r\nx\r\n--xyz--",
    "--xyz\r\nContent-Disposition: attachment; name=file\r\n\r\nx\r\n--xyz--",
    "--xyz\r\nContent-Disposition: form-data; name=\"fi\r\nle\"\r\n\r\nx\r\n--xyz--",
    "--xyz\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\nx\r\n--xyz--",
    "--xyz\r\n\(disposition)\r\nContent-Transfer-Encoding: base64\r\n\r\nx\r\n--xyz--",
    "--xyz\r\n\(disposition)\r\nX: \(String(repeating: "x", count: 5000))\r\n\r\nx\r\n--xyz--",
    String(repeating: "--xyz\r\n\(disposition)\r\n\r\nx\r\n", count: 17) + "--xyz--",
  ])
  func anythingButACompleteFormIsRefused(body: String) {
    #expect(throws: MultipartError.self) { try parts(body) }
  }

  /// What stands behind such a boundary would become content.
  @Test(arguments: [
    "--xyz\n\(disposition)\n\nx\n--xyz--\n", "--xyz\r\n\(disposition)\r\n\r\nx\n--xyz--\n",
    "--xyz\r\n\(disposition)\r\n\r\nx\n--xyz\n\(disposition)\n\ny\r\n--xyz--\r\n",
    "--xyz\r\n\(disposition)\r\n\r\n\n--xyz\r\n\r\n--xyz--\r\n",
  ])
  func aBoundaryBehindABareLineFeedIsRefused(body: String) {
    for size in [1, 7, body.utf8.count] {
      let error = #expect(throws: MultipartError.self) {
        try parts(of: Array(body.utf8), by: size)
      }
      #expect(error?.message.contains("LF alone") == true)
    }
  }

  /// Wherever a form ends too early, it is refused; wherever a byte is another, nothing breaks.
  @Test func noFormBreaksTheReader() {
    let body = Array(
      "--xyz\r\n\(Self.disposition)\r\n\r\n<a/>\r\n--xyz\r\nContent-Disposition: form-data; name=b\r\n\r\n\r\n--xyz--"
        .utf8)
    for length in 0..<body.count {
      #expect(throws: MultipartError.self) {
        try MultipartForm(contentType: Self.type, body: Array(body[..<length]))
      }
    }
    for index in body.indices {
      for byte: UInt8 in [0, 0x0a, 0x0d, 0x22, 0x2d, 0x3a, 0x5c, 0xff] {
        var changed = body
        changed[index] = byte
        _ = try? MultipartForm(contentType: Self.type, body: changed)
      }
    }
  }

  /// Reads a form that comes in pieces of a size.
  private func parts(
    of body: [UInt8], by size: Int
  ) throws(MultipartError) -> [(name: String, fileName: String?, content: [UInt8])] {
    var reader = try MultipartReader(contentType: Self.type)
    var parts: [(name: String, fileName: String?, content: [UInt8])] = []
    for start in stride(from: 0, through: body.count, by: size) {
      reader.append(Array(body[start..<min(start + size, body.count)]))
      if start + size > body.count { reader.finish() }
      while let event = try reader.next() {
        switch event {
        case .part(let name, let fileName): parts.append((name, fileName, []))
        case .content(let bytes):
          #expect(!bytes.isEmpty)
          parts[parts.count - 1].content += bytes
        case .end: break
        }
      }
    }
    return parts
  }

  @Test(arguments: 1...40)
  func inPiecesAFormIsTheSame(size: Int) throws {
    let contents = ["", "x", "<a>\r\n--xy\r\n--\r\n\r--xyz</a>\r\n", "\r\n\r\n--xy", "\r\n--xy"]
    for preamble in ["", "preamble\r\n", "\r\n", "--xy\r\n"] {
      var body = Array(preamble.utf8)
      for (number, content) in contents.enumerated() {
        let field = "Content-Disposition: form-data; name=n\(number); filename=\"\(number)\""
        body += Array("--xyz \t\r\nX: y\r\n\(field)\r\n\r\n\(content)\r\n".utf8)
      }
      body += Array("--xyz--\r\nepilogue".utf8)
      let parts = try parts(of: body, by: size)
      #expect(parts.map(\.name) == contents.indices.map { "n\($0)" })
      #expect(parts.map(\.fileName) == contents.indices.map { "\($0)" })
      #expect(parts.map { String(decoding: $0.content, as: UTF8.self) } == contents)
      let end = "--\r\nepilogue".utf8.count
      for length in [0, 3, 20, 60, body.count - end] {
        #expect(throws: MultipartError.self) {
          try self.parts(of: Array(body[..<length]), by: size)
        }
      }
    }
  }

  @Test func whatHasNoEndIsNotHeld() throws {
    for (start, endless) in [("--xyz", " "), ("--xyz\r\n", "x")] {
      var reader = try MultipartReader(contentType: Self.type)
      reader.append(Array(start.utf8))
      #expect(throws: MultipartError.self) {
        for _ in 0..<10 {
          reader.append(Array(repeating: endless.utf8.first ?? 0, count: 1000))
          _ = try reader.next()
        }
      }
    }
  }
}
