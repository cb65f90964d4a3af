/// Requests and what must become of them, used by several tests.
enum RequestTable {
  static let host = "Host: a.example\r\n"

  static func get(_ fields: String, body: String = "") -> String {
    "GET / HTTP/1.1\r\n\(host)\(fields)\r\n\(body)"
  }

  static func post(_ fields: String, body: String = "") -> String {
    "POST /x HTTP/1.1\r\n\(host)\(fields)\r\n\(body)"
  }

  static func chunked(_ body: String) -> String {
    post("Transfer-Encoding: chunked\r\n", body: body)
  }

  static func line(_ line: String) -> String { "\(line)\r\n\(host)\r\n" }

  static func hosted(_ value: String) -> String { "GET / HTTP/1.1\r\nHost:\(value)\r\n\r\n" }

  /// Refused, with the status.
  static let bad: [(request: String, status: UInt16)] = [
    // Request line
    (line("GET  / HTTP/1.1"), 400), (line("GET /  HTTP/1.1"), 400),
    (line("GET\t/\tHTTP/1.1"), 400), (line(" GET / HTTP/1.1"), 400),
    (line("GET / HTTP/1.1 "), 400), (line("GET / x HTTP/1.1"), 400), (line("GET"), 400),
    (line("GET /"), 400), (line("GET / "), 400), (line("G(T / HTTP/1.1"), 400),
    (line(" / HTTP/1.1"), 400), (line("GET  HTTP/1.1"), 400),
    (line("GET / HTTP/2.0"), 505), (line("GET / HTTP/3.7"), 505), (line("GET / HTTP/0.9"), 505),
    (line("GET / HTTP/11"), 400), (line("GET / HTTP/1.1x"), 400), (line("GET / http/1.1"), 400),
    (line("GET / HTTP/1."), 400), (line("GET / HTTP/1.10"), 400), (line("GET / FTP/1.1"), 400),
    (line("GET / HTTP/ 1.1"), 400), (line("GET / HTTP/a.1"), 400), (line("GET / HTTP/1-1"), 400),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505), ("\u{16}\u{3}\u{1}\u{1}", 400),
    (line(String(repeating: "M", count: 25) + " / HTTP/1.1"), 501),
    // Target
    (line("GET * HTTP/1.1"), 400), (line("GET a.example:80 HTTP/1.1"), 400),
    (line("GET x HTTP/1.1"), 400), (line("GET /#f HTTP/1.1"), 400),
    (line("GET /\u{7f} HTTP/1.1"), 400), (line("GET /\u{1} HTTP/1.1"), 400),
    (line("GET /\u{e9} HTTP/1.1"), 400), (line("OPTIONS ** HTTP/1.1"), 400),
    (line("CONNECT a.example:443 HTTP/1.1"), 501), (line("GET ftp://a/ HTTP/1.1"), 400),
    (line("GET http:///x HTTP/1.1"), 400), (line("GET http://u@a/ HTTP/1.1"), 400),
    (line("GET http://a:x/ HTTP/1.1"), 400), (line("GET http:/a HTTP/1.1"), 400),
    (line("GET ?x HTTP/1.1"), 400),
    // Host
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET http://a/ HTTP/1.1\r\n\r\n", 400),
    (get(host), 400), (hosted(""), 400), (hosted(" a b"), 400), (hosted(" a@b"), 400),
    (hosted(" a/b"), 400), (hosted(" [::1"), 400), (hosted(" a:99999999"), 400),
    (hosted(" a:65536"), 400), (hosted(" a:http"), 400), (hosted(" a,b"), 400),
    (hosted(" :80"), 400), (hosted(" [::1]x"), 400), (hosted(" [1:2]"), 400),
    (hosted(" [1::2::3]"), 400), (hosted(" [:1]"), 400), (hosted(" [1:2:3:4:5:6:7:8:9]"), 400),
    (hosted(" [12345::]"), 400), (hosted(" [::1.2.3]"), 400), (hosted(" [::1.2.3.256]"), 400),
    (hosted(" [::1.2.3.04]"), 400), (hosted(" [v1.x]"), 400), (hosted(" []"), 400),
    (hosted(" [1:2:3:4:5:6:7:8::]"), 400), (hosted(" [1:2:3:4:5:6:7:]"), 400),
    // Field lines
    (get("Foo : x\r\n"), 400), (get("Foo Bar: x\r\n"), 400), (get("(Foo): x\r\n"), 400),
    (get("Foo\t: x\r\n"), 400), (get("Fo\u{e9}: x\r\n"), 400), (get(": x\r\n"), 400),
    (get("Foo/Bar: x\r\n"), 400), (get("nonsense\r\n"), 400), (get("A: 1\r\n folded\r\n"), 400),
    (get("A: 1\r\n\tfolded\r\n"), 400), ("GET / HTTP/1.1\r\n X: y\r\n\(host)\r\n", 400),
    (get("A: a\u{0}b\r\n"), 400), (get("A: a\u{1}\r\n"), 400), (get("A: a\u{7f}\r\n"), 400),
    (get("A: a\rB: c\r\n"), 400), (get("A: b\n"), 400), ("GET / HTTP/1.1\n\(host)\r\n", 400),
    ("GET / HTTP/1.1\rHost: a\r\r", 400), ("\n\nGET / HTTP/1.1\r\n\(host)\r\n", 400),
    ("\rGET / HTTP/1.1\r\n\(host)\r\n", 400), (get("\r\r\n"), 400),
    // Framing
    (post("Content-Length: 5\r\nContent-Length: 6\r\n", body: "abcdef"), 400),
    (post("Content-Length: 5\r\nContent-Length: 5\r\n", body: "abcde"), 400),
    (post("Content-Length: 5, 5\r\n", body: "abcde"), 400),
    (post("Content-Length: +5\r\n", body: "abcde"), 400), (post("Content-Length: -1\r\n"), 400),
    (post("Content-Length: 0x5\r\n"), 400), (post("Content-Length: 5 5\r\n"), 400),
    (post("Content-Length: 5;\r\n"), 400), (post("Content-Length:\r\n"), 400),
    (post("Content-Length: 1_0\r\n"), 400), (post("Content-Length: 5.0\r\n"), 400),
    (post("Content-Length: \u{b2}5\r\n"), 400),
    (post("Content-Length: 99999999999999999999999\r\n"), 413),
    (post("Content-Length: 9223372036854775808\r\n"), 413),
    (post("Content-Length: 18446744073709551621\r\n"), 413),
    (post("Content-Length: 99999999999999999999999x\r\n"), 400),
    (post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", body: "0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", body: "0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), 400),
    (post("Transfer-Encoding: identity\r\n"), 501), (post("Transfer-Encoding: xchunked\r\n"), 501),
    (post("Transfer-Encoding: chunked, identity\r\n"), 501),
    (post("Transfer-Encoding: chunked, chunked\r\n"), 501),
    (post("Transfer-Encoding: gzip, chunked\r\n"), 501),
    (post("Transfer-Encoding: chunked;x=1\r\n"), 501),
    (post("Transfer-Encoding: \u{b}chunked\r\n"), 400), (post("Transfer-Encoding:\r\n"), 400),
    (post("Transfer-Encoding : chunked\r\n", body: "0\r\n\r\n"), 400),
    (post("Transfer-Encoding:\r\n chunked\r\n", body: "0\r\n\r\n"), 400),
    ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (get("Expect: something\r\n"), 417),
    (get("Expect: 100-continue\r\nExpect: x\r\n"), 417),
    // Chunks
    (chunked("0x5\r\nabcde\r\n0\r\n\r\n"), 400), (chunked("-5\r\nabcde\r\n"), 400),
    (chunked("+5\r\nabcde\r\n"), 400), (chunked("5_\r\nabcde\r\n"), 400),
    (chunked(" 5\r\nabcde\r\n"), 400), (chunked("\r\nabcde\r\n"), 400),
    (chunked("5 \r\nabcde\r\n"), 400), (chunked(";a\r\n"), 400), (chunked("zz\r\n\r\n"), 400),
    (chunked(String(repeating: "0", count: 16) + "5\r\nabcde\r\n"), 400),
    (chunked("ffffffffffffffff5\r\nabcde\r\n"), 413),
    (chunked("10000000000000005\r\nabcde\r\n"), 413), (chunked("8000000000000000\r\n"), 413),
    (chunked("5\r\nabcdeXX0\r\n\r\n"), 400), (chunked("5\r\nabcde\rX"), 400),
    (chunked("5\nabcde\n0\n\n"), 400), (chunked("5\r\rabcde\r\n"), 400),
    (chunked("5;a\nabcde\r\n"), 400), (chunked("5;a\rb\r\nabcde\r\n"), 400),
    (chunked("5;\u{0}\r\nabcde\r\n"), 400),
    (chunked("1\r\nx\r\n7fffffffffffffff\r\n"), 413),
    (chunked("1;" + String(repeating: "e", count: 9000)), 400),
    (chunked("0\r\nnonsense\r\n\r\n"), 400), (chunked("0\r\nA : b\r\n\r\n"), 400),
    (chunked("0\r\n folded\r\n\r\n"), 400), (chunked("0\r\nA: b\n\r\n"), 400),
    (chunked("0\r\n\n"), 400), (chunked("0\r\nA: " + String(repeating: "b", count: 9000)), 431),
    (chunked("0\r\n" + String(repeating: "A: b\r\n", count: 101) + "\r\n"), 431),
    // Limits
    (line("GET /" + String(repeating: "a", count: 8192) + " HTTP/1.1"), 414),
    ("GET /" + String(repeating: "a", count: 20_000), 414),
    (String(repeating: "M", count: 20_000), 414),
    (get("X: " + String(repeating: "b", count: 8192)), 431),
    (get(String(repeating: "X: " + String(repeating: "b", count: 4000) + "\r\n", count: 5)), 431),
    (get(String(repeating: "x: y\r\n", count: 100)), 431),
    (String(repeating: "\r\n", count: 9) + get(""), 400),
  ]

  /// Taken, with the events.
  static let good: [(request: String, outcomes: [Outcome])] = [
    (
      "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
      [.head("GET / http11 a.example a.example none true false [Host=a.example]"), .end]
    ),
    (
      "\r\n\r\nGET /a%20b?c=d?e HTTP/1.1\r\nHOST:\t A.Example:8080 \t\r\n\r\n",
      [
        .head(
          "GET /a%20b http11 A.Example:8080 a.example none true false ?c=d?e "
            + "[HOST=A.Example:8080]"), .end,
      ]
    ),
    (
      "GET /? HTTP/1.0\r\n\r\n", [.head("GET / http10   none false false ?"), .end]
    ),
    (
      "GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n",
      [.head("GET / http10   none true false [Connection=x, Keep-Alive]"), .end]
    ),
    (
      "GET / HTTP/1.9\r\nHost: [2001:db8::1]:443\r\nConnection:keep-alive ,CLOSE\r\n\r\n",
      [
        .head(
          "GET / http11 [2001:db8::1]:443 [2001:db8::1] none false false "
            + "[Host=[2001:db8::1]:443] [Connection=keep-alive ,CLOSE]"), .end,
      ]
    ),
    (
      "GET HTTP://Other:81/p?q HTTP/1.1\r\nHost: a\r\n\r\n",
      [
        .head("GET /p http11 Other:81 other none true false ?q [Host=a]"), .end,
      ]
    ),
    (
      "GET https://other HTTP/1.1\r\nHost: a\r\n\r\n",
      [.head("GET / http11 other other none true false [Host=a]"), .end]
    ),
    (
      "GET https://other?x HTTP/1.1\r\nHost: a\r\n\r\n",
      [.head("GET / http11 other other none true false ?x [Host=a]"), .end]
    ),
    (
      "OPTIONS * HTTP/1.1\r\nHost: a:\r\n\r\n",
      [.head("OPTIONS * http11 a: a none true false [Host=a:]"), .end]
    ),
    (
      "BREW / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]\r\nX:\r\nY: \t \r\nZ: \u{e9}\tz\r\n\r\n",
      [
        .head(
          "BREW / http11 [::ffff:1.2.3.4] [::ffff:1.2.3.4] none true false "
            + "[Host=[::ffff:1.2.3.4]] [X=] [Y=] [Z=\u{e9}\tz]"), .end,
      ]
    ),
    (
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\nExpect: 100-Continue\r\n\r\nabcde"
        + "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      [
        .head(
          "POST /x http11 a a length(5) true true [Host=a] [Content-Length=005] "
            + "[Expect=100-Continue]"), .body(Array("abcde".utf8)), .end,
        .head("GET / http11 a a none true false [Host=a]"), .end,
      ]
    ),
    (
      "POST /x HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\na",
      [
        .head(
          "POST /x http10   length(1) false false [Content-Length=1] [Expect=100-continue]"),
        .body([0x61]), .end,
      ]
    ),
    (
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      [.head("POST /x http11 a a length(0) true false [Host=a] [Content-Length=0]"), .end]
    ),
    (
      "POST /x HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n"
        + "3\r\nabc\r\n00000a;x=\"y z\"\r\n0123456789\r\n1 ; b\r\n!\r\n"
        + "0;last\r\nX-Trailer: y\r\nContent-Length: 9\r\n\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
      [
        .head("POST /x http11 a a chunked true false [Host=a] [transfer-encoding=Chunked]"),
        .body(Array("abc0123456789!".utf8)), .end,
        .head("GET / http11 b b none true false [Host=b]"), .end,
      ]
    ),
  ]
}
