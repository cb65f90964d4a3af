internal import HTTPProtocol
internal import TestSupport
internal import Testing

struct NegotiationTests {
  private func list(_ name: FieldName, _ values: [String]) throws -> AcceptList {
    AcceptList(
      try RequestHead(
        method: .get, path: "/", authority: "a",
        fields: values.map { (name: "\(name.text)", value: $0) }), name)
  }

  @Test(
    arguments: [
      ([], nil), (["application/json"], 1000), (["APPLICATION/JSON"], 1000), (["*/*"], nil),
      (["application/*"], nil), (["text/html, application/json;q=0.8"], 800),
      (["application/json;q=0"], 0), (["application/json ; q=0.125"], 125),
      (["application/json;q=1.000"], 1000), (["application/json;Q=0.5"], 500),
      (["application/json;charset=utf-8;q=0.3"], 300), (["application/json;q=0.1234"], nil),
      (["application/json;q=1.1"], nil), (["application/json;q=2"], nil),
      (["application/json;q="], nil), (["application/json;q=.5"], nil),
      (["application/json;q=-1"], nil), (["application/json;q=0."], 0),
      (["text/html", "application/json;q=0.4"], 400), (["application/jsonx"], nil),
      (["xapplication/json"], nil), ([",,application/json,,"], 1000), ([""], nil), ([";q=1"], nil),
      (["text/html;a=\", application/json;\";q=0.2"], nil),
      (["text/html;a=\"\\\", application/json"], nil),
      (["text/html;a=\"b\\\"\", application/json;q=0.7"], 700),
      (["application/json;q=0.2, application/json;q=0.6"], 600),
      (["application/json, application/json;q=0"], 1000), (["application/json;q=0.5;ext"], 500),
    ] as [([String], Int?)])
  func weighsMediaTypes(values: [String], expected: Int?) throws {
    #expect(try list(.accept, values).quality(of: "application/json") == expected)
  }

  @Test(
    arguments: [
      ([], 0, 0, 1000), (["gzip, deflate, br"], 1000, 1000, 1000), (["gzip;q=0.5"], 500, 0, 1000),
      (["*"], 1000, 1000, 1000), (["gzip;q=0, *;q=0.3"], 0, 300, 300), (["*;q=0"], 0, 0, 0),
      (["identity;q=0, gzip"], 1000, 0, 0), ([""], 0, 0, 1000), (["GZIP"], 1000, 0, 1000),
      (["identity, *;q=0"], 0, 0, 1000),
    ] as [([String], Int, Int, Int)])
  func weighsCodings(values: [String], gzip: Int, brotli: Int, identity: Int) throws {
    let list = try list(.acceptEncoding, values)
    #expect(list.quality(ofCoding: "gzip") == gzip)
    #expect(list.quality(ofCoding: "br") == brotli)
    #expect(list.quality(ofCoding: "identity") == identity)
  }
}

struct PathTests {
  @Test(
    arguments: [
      ("a%20b", "a b"), ("%41%7a", "Az"), ("%c3%A4", "ä"), ("a+b", "a+b"), ("", ""), ("%", nil),
      ("%2", nil), ("%zz", nil), ("%2g", nil), ("%00", nil), ("%ff%fe", nil), ("%ed%a0%80", nil),
      ("%c0%ae", nil), ("%u002e", nil), ("%252e", "%2e"), ("%2f", "/"),
    ] as [(String, String?)])
  func decodes(encoded: String, text: String?) {
    #expect(PercentEncoding.decodeText(Array(encoded.utf8)[...]) == text)
  }

  @Test func encodes() {
    #expect(PercentEncoding.encode("a b/ä~-._\"%") == "a%20b%2F%C3%A4~-._%22%25")
    for text in ["", "ü€😀", "a=b&c", "\u{7f}\r\n"] {
      let encoded = Array(PercentEncoding.encode(text).utf8)
      #expect(PercentEncoding.decodeText(encoded[...]) == text)
    }
  }

  @Test(
    arguments: [
      ("a=b&c=d", [("a", "b"), ("c", "d")]), ("", []), ("&&", []), ("a", [("a", "")]),
      ("=b", [("", "b")]), ("a=b=c", [("a", "b=c")]), ("a+b=%2B+%26", [("a b", "+ &")]),
      ("a%=b", nil), ("a=%00", nil), ("a=%ff", nil), ("a[]=1&a[]=2", [("a[]", "1"), ("a[]", "2")]),
    ] as [(String, [(String, String)]?)])
  func readsForms(text: String, pairs: [(String, String)]?) {
    let form = URLEncodedForm(Array(text.utf8)[...])
    #expect(form?.pairs.map(\.name) == pairs?.map(\.0))
    #expect(form?.pairs.map(\.value) == pairs?.map(\.1))
    if let first = pairs?.first { #expect(form?[first.0] == first.1) }
    #expect(form?["absent"] == nil)
  }
}
