internal import Configuration
internal import Testing

@Suite struct AddressTests {
  @Test(arguments: [
    ("127.0.0.1:8080", "http://127.0.0.1:8080"), ("0.0.0.0:0", "http://0.0.0.0:0"),
    ("[::1]:65535", "http://[::1]:65535"), ("https://[::]:443", "https://[::]:443"),
    ("http://10.0.0.1:80", "http://10.0.0.1:80"),
    ("unix:/run/awd.sock", "http://unix:/run/awd.sock"),
    ("https://unix:/s", "https://unix:/s"), ("unix:s", "http://unix:etc/s"),
    (
      "unix:/" + String(repeating: "x", count: 106),
      "http://unix:/" + String(repeating: "x", count: 106)
    ),
  ])
  func listenAddress(text: String, description: String) {
    #expect(ListenAddress(text, folder: "etc/")?.description == description)
  }

  @Test(arguments: [
    "", ":", ":80", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
    "127.0.0.1:+1", "127.0.0.1:1 ", "127.1:1", "::1:80", "[::1]", "[::1]80", "[127.0.0.1]:80",
    "[]:1",
    "[::1%lo]:1", "localhost:80", "*:80", "ftp://127.0.0.1:1", "https://", "http://127.0.0.1:1/",
    "https://http://127.0.0.1:1", "unix:", "unix:/", "unix:/a/", "unix:/a\u{0}b",
    "unix:/" + String(repeating: "x", count: 107), "127.0.0.1\u{0}:80",
  ])
  func noListenAddress(text: String) {
    #expect(ListenAddress(text) == nil)
  }

  @Test func tlsUnlessTheSchemeSaysOtherwise() {
    #expect(ListenAddress("127.0.0.1:1", isSecure: true)?.isSecure == true)
    #expect(ListenAddress("http://127.0.0.1:1", isSecure: true)?.isSecure == false)
    #expect(ListenAddress("https://127.0.0.1:1")?.isSecure == true)
  }

  @Test(arguments: [
    ("https://wallet.example", "https://wallet.example"),
    ("http://127.0.0.1:80/", "http://127.0.0.1:80"),
    ("https://[::1]:8443/a/b//", "https://[::1]:8443/a/b"),
    ("http://[2001:db8::1]", "http://[2001:db8::1]"),
    ("http://localhost/%C3%A9", "http://localhost/%C3%A9"), ("https://A.B", "https://a.b"),
  ])
  func publicURL(text: String, description: String) {
    #expect(PublicURL(text)?.description == description)
  }

  @Test(arguments: [
    "", "wallet.example", "/", "https://", "https:///a", "ftp://a", "HTTPS:/a", "https://a?b",
    "https://a/#", "https://u@a", "https://a:0", "https://a:", "https://a:65536", "https://a:+1",
    "https://[1.2.3.4]", "https://[::1", "https://::1", "https://a..b", "https://-a", "https://a b",
    "https://a/ b", "https://a/%4", "https://a/%zz", "https://é", "https://a/é", "https://a/\r\n",
    "https://a/<", "https://" + String(repeating: "a", count: 64),
  ])
  func noPublicURL(text: String) {
    #expect(PublicURL(text) == nil)
  }
}
