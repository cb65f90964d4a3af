internal import Configuration
internal import Testing

@Suite struct HostNameTests {
  @Test(
    arguments: [
      ("Repo.Example", "repo.example"), ("192.0.2.1", "192.0.2.1"), ("[::1]", "[::1]"),
      ("a:80", nil), ("[::1]:80", nil), ("a/", nil), ("a/b", nil), ("", nil), ("::1", nil),
      ("a b", nil), ("user@a", nil), ("a?b", nil), ("a#b", nil),
    ] as [(String, String?)])
  func isAHostWithoutAPort(_ text: String, _ description: String?) {
    #expect(HostName(text)?.description == description)
  }
}
