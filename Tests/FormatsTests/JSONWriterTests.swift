internal import Formats
internal import Testing

@Suite struct JSONWriterTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func writesMembersInOrder() {
    let json = JSONWriter.object { object in
      object["Text"] = "a \"quoted\" \\ text"
      object["Number"] = -7
      object["Large"] = Int64.max
      object["Truth"] = true
      object["None"] = String?.none
      object.add("Payload", json: #"{"a":1}"#.utf8)
      object.add(
        "Object",
        object: { inner in
          inner["x"] = 1
          inner["y"] = 2
        })
      object.add(
        "List",
        list: { list in
          list.append("b")
          list.append(object: { $0["c"] = false })
          list.append(json: "null".utf8)
        })
    }
    #expect(
      text(json)
        == #"{"Text":"a \"quoted\" \\ text","Number":-7,"Large":9223372036854775807,"Truth":true,"#
        + #""Payload":{"a":1},"Object":{"x":1,"y":2},"List":["b",{"c":false},null]}"#)
  }

  @Test func emptyOnesAreWhole() {
    #expect(text(JSONWriter.object { _ in }) == "{}")
    #expect(text(JSONWriter.list { _ in }) == "[]")
  }

  /// As jansson reads it, any text is the same again.
  @Test(arguments: [
    "", "\u{0}\u{1}\u{1f}\n\r\t\"\\/", "é漢😀\u{2028}", String(repeating: "a", count: 5000),
  ])
  func textsCanBeReadAgain(_ string: String) throws {
    let json = JSONWriter.object { $0["name"] = string }
    let value = try #require(JSONValue(parsing: json))
    #expect(value == .object([JSONValue.Member("name", .text(string))]))
    #expect(value.bytes == json)
  }

  @Test func valuesAreWrittenAsTheyWereRead() throws {
    let json = #"{"a":[1,2.5,true,false,null,"x",{"b":{}}],"c":-9007199254740992}"#
    #expect(JSONValue(parsing: Array(json.utf8))?.json == json)
  }
}
