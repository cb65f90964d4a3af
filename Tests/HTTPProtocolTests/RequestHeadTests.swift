internal import TestSupport
internal import Testing

@testable import HTTPProtocol

struct RequestHeadTests {
  @Test func findsFields() throws {
    let head = try head(
      "GET /p?q HTTP/1.1\r\nHost: a\r\naccept: x\r\nACCEPT: y ,, \tz\r\nE:\r\n\r\n")
    #expect(head.first(.accept)?.text == "x")
    #expect(head.value(.accept) == "x, y ,, \tz")
    #expect(head.contains(.accept, token: "Z"))
    #expect(head.contains(.accept, token: "x"))
    #expect(!head.contains(.accept, token: ""))
    #expect(!head.contains(.accept, token: "y ,"))
    #expect(head.first(FieldName("E"))?.isEmpty == true)
    #expect(head.value(.origin) == nil && head.first(.origin) == nil)
    #expect(head.path.text == "/p" && head.query?.text == "q")
  }

  @Test func isMadeFromParts() throws {
    let head = try RequestHead(
      method: .post, path: "/a/b?c", authority: "H.Example:1",
      fields: [(name: "content-length", value: "3"), (name: "x", value: " y ")])
    #expect(head.path.text == "/a/b" && head.query?.text == "c")
    #expect(head.host == "h.example" && head.authority == "H.Example:1")
    #expect(head.framing == .length(3) && head.first(FieldName("X"))?.text == "y")
    #expect(head.version == .http11 && head.keepAlive)
    let hosted = try RequestHead(
      method: .get, path: "/", authority: "", fields: [(name: "host", value: "b")])
    #expect(hosted.host == "b")
  }

  @Test(
    arguments: [
      (Method.get, "/", "", [("x", "y")], UInt16(400)), (.get, "", "a", [], 400),
      (.get, "/ x", "a", [], 400), (.get, "/\u{e9}", "a", [], 400), (.get, "*", "a", [], 400),
      (.get, "http://a/", "a", [], 400), (.get, "/", "a b", [], 400), (.connect, "/", "a", [], 501),
      (.get, "/", "a", [("x y", "z")], 400), (.get, "/", "a", [("", "z")], 400),
      (.get, "/", "a", [("x", "z\r\nq: r")], 400), (.get, "/", "a", [("x:y", "z")], 400),
      (.get, "/", "a", [("x", String(repeating: "y", count: 65_531))], 431),
      (.get, "/", "a", [("expect", "x")], 417),
    ] as [(Method, String, String, [(String, String)], UInt16)])
  func refusesBadParts(
    method: Method, path: String, authority: String, fields: [(String, String)], status: UInt16
  ) {
    var thrown: UInt16 = 0
    do throws(RequestFailure) {
      _ = try RequestHead(
        method: method, path: path, authority: authority,
        fields: fields.map { (name: $0.0, value: $0.1) })
    } catch { thrown = error.status.code }
    #expect(thrown == status)
  }

  @Test(arguments: [
    ("Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n", "1.1", true),
    ("uPGRADE: x, WebSocket\r\nCONNECTION: uPgRaDe\r\n", "1.1", true),
    ("Upgrade: websocket\r\n", "1.1", false), ("Connection: Upgrade\r\n", "1.1", false),
    ("Upgrade: h2c\r\nConnection: Upgrade\r\n", "1.1", false),
    ("Upgrade: websocket\r\nConnection: Upgrade\r\n", "1.0", false),
  ])
  func knowsWebSocketUpgrades(fields: String, version: String, expected: Bool) throws {
    let head = try head("GET / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n")
    #expect(head.isWebSocketUpgrade == expected)
  }

  @Test func methodsAreCaseSensitive() {
    for method in [Method.get, .head, .post, .put, .delete, .connect, .options, .trace, .patch] {
      #expect(Method(Array(method.name.utf8)) == method)
      #expect(Method(method.name.utf8.map { $0 | 0x20 }) == .other(method.name.lowercased()))
    }
    #expect(Method("PROPPATCH".utf8) == .other("PROPPATCH"))
    #expect(Method("\0GET".utf8) != .get)
  }

  /// The sets against the characters that the RFCs list.
  @Test func setsAreRight() {
    let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    for byte in UInt8.min...UInt8.max {
      #expect(ByteSet.token.contains(byte) == (letters + "!#$%&'*+-.^_`|~").utf8.contains(byte))
      #expect(ByteSet.hostName.contains(byte) == (letters + "-._~").utf8.contains(byte))
      #expect(ByteSet.base64.contains(byte) == (letters + "+/").utf8.contains(byte))
    }
  }

  /// Every length, every position and every byte, so that words and the rest are both met.
  @Test func findsBytes() {
    for length in 0..<20 {
      for position in 0..<length {
        for byte in UInt8.min...UInt8.max {
          var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
          bytes[position] = byte
          let (control, stop) = bytes.withUnsafeBytes {
            (
              ByteScan.firstControl(in: $0, from: 0, to: length),
              ByteScan.firstTargetStop(in: $0, from: 0, to: length)
            )
          }
          #expect(control == (byte < 32 || byte == 127 ? position : length))
          let stops = byte < 33 || byte > 126 || "#?".utf8.contains(byte)
          #expect(stop == (stops ? position : length))
        }
      }
    }
  }
}
