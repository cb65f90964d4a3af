internal import Configuration
internal import Testing

@Suite struct ConfigurationDocumentTests {
  @Test(arguments: [
    ("a = ", "awd.toml:1:"), ("a = 1\nb = \"x", "awd.toml:2:"), ("[\n", "awd.toml:1:2: "),
    ("a = 1\na = 2", "awd.toml:2:"), ("[a]\n[a]", "awd.toml:2:"), ("a.b = 1\na = 2", "awd.toml:2:"),
    ("a = 9223372036854775808", "awd.toml:1:"), ("a = 0xFFFFFFFFFFFFFFFFF", "awd.toml:1:"),
    ("a = 'b\u{0}'", "awd.toml:1:"), ("a\u{0} = 1", "awd.toml:1:"), ("a = tru\n", "awd.toml:1:"),
    ("\"é\" = 1\n\"e\u{301}\" = 2", "awd.toml:"),
  ])
  func malformed(text: String, place: String) {
    let refusal = refusal(Array(text.utf8))
    #expect(refusal.hasPrefix(place) && !refusal.contains("\n"), "\(refusal)")
  }

  @Test(arguments: [[0x61, 0x3D, 0x27, 0xFF, 0x27], [0x61, 0xC3], [0xFF, 0xFE, 0x61, 0x00]])
  func invalidUTF8(bytes: [UInt8]) {
    #expect(refusal(bytes).hasPrefix("awd.toml:1:"))
  }

  @Test(arguments: [
    (String(repeating: "[", count: 100_000), 1),
    ("a = " + String(repeating: "[", count: 33) + String(repeating: "]", count: 33), 1),
    ("a = " + String(repeating: "[", count: 500_000), 1),
    ("a = " + String(repeating: "{a=", count: 200_000), 1),
    ("\n" + String(repeating: "a.", count: 400_000) + "a = 1", 2),
    ("[" + String(repeating: "a . ", count: 40) + "a]", 1),
    (String(repeating: "'a.'.\"b\\\".\".", count: 40) + "a = 1", 1),
    ("a = { " + String(repeating: "a.", count: 20) + "a = [[[[[[[[[[[[[]]]]]]]]]]]]] }", 1),
  ])
  func deepNesting(text: String, line: Int) {
    #expect(refusal(Array(text.utf8)).hasPrefix("awd.toml:\(line):"))
  }

  @Test func tooDeepKeyHasItsPlace() {
    let key = String(repeating: "a.", count: 33) + "a"
    #expect(
      refusal(Array("# é\n\(key) = 1".utf8))
        == "awd.toml:2:64: nested too deeply: at most 32 levels")
  }

  /// Dots in strings and comments aren't levels of nesting, in any kind of string.
  @Test(arguments: [
    "a = '\(dots)'", "a = \"\(dots)\\\"\(dots)\"", "a = '''\n\(dots)'\(dots)'''''\nb = 1",
    "a = \"\"\"\(dots)\\\"\"\"\(dots)\"\"\"\"\"", "# \(dots)\na = 1", "a = [\(numbers)]",
    "\"\(dots)\" = 1", "a = ''\nb = '\(dots)'", "a = \"\"\nb = \"\(dots)\"",
    "a = { b = '\(dots)', 'c' = 1.5 }", "\(tables)",
  ])
  func dotsInText(text: String) {
    #expect(refusal(Array(text.utf8)) == "")
  }

  static let dots = String(repeating: ".", count: 100)
  static let numbers = String(repeating: "1.5, ", count: 100)
  static let tables = (0..<100).map { "[a.b.c.d\($0)]" }.joined(separator: "\n")

  @Test func tooLarge() throws {
    let bytes = Array(String(repeating: "# 4567\n", count: 150_000).utf8)
    #expect(refusal(bytes) == "awd.toml:1:1: larger than 1 MiB")
    #expect(refusal(Array(bytes.prefix(1 << 20))) == "")
    let file = try TemporaryFile(bytes)
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationDocument.load(file: file.path, environment: [:])
    }
    #expect(
      error?.description
        == "the configuration file \(file.path) can't be read: larger than 1MiB")
  }

  @Test func byteOrderMarkAndCarriageReturns() throws {
    let reader = try reader("\u{FEFF}[s]\r\na = 'x'\r\nb = 1\r\n")
    let section = reader.section("s")
    #expect(section.string("a", default: "") == "x")
    _ = section.string("b", default: "")
    #expect(problems(reader) == "awd.toml:3:5: s.b: expected a string, found 1")
  }

  @Test func columnsCountCodePoints() throws {
    let reader = try reader("s = { a = 'é𝄞', b = 1 }")
    _ = reader.section("s").string("a", default: "")
    #expect(problems(reader) == "awd.toml:1:17: s.b: unknown key")
  }

  @Test func missingFile() {
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationDocument.load(file: "/nowhere/awd.toml", environment: [:])
    }
    #expect(
      error?.reason
        == "the configuration file /nowhere/awd.toml can't be read: No such file or directory")
    let folder = #expect(throws: ConfigurationError.self) {
      try ConfigurationDocument.load(file: "/tmp", environment: [:])
    }
    #expect(folder?.description == "the configuration file /tmp can't be read: Is a directory")
  }

  @Test func fileIsRead() throws {
    let file = try TemporaryFile(Array("[s]\na = 'x'".utf8))
    let document = try ConfigurationDocument.load(file: file.path, environment: [:])
    let reader = ConfigurationReader(document)
    #expect(document.file == file.path)
    #expect(reader.section("s").string("a", default: "") == "x")
    #expect(reader.dataFolder == file.path.dropLast("file".count) + "var")
    #expect(problems(reader) == "")
  }

  @Test(arguments: [
    (["HOME": "/home/x"], "/home/x/.local/state/awd"),
    (["HOME": "/home/x", "XDG_STATE_HOME": "/state"], "/state/awd"),
    (["HOME": "/home/x", "XDG_STATE_HOME": "state"], "/home/x/.local/state/awd"),
    (["HOME": "/home/x", "XDG_STATE_HOME": ""], "/home/x/.local/state/awd"),
    ([:], nil), (["HOME": "x"], nil),
  ])
  func stateFolder(environment: [String: String], folder: String?) {
    #expect(ConfigurationDocument.stateFolder(environment: environment) == folder)
  }

  @Test func withoutFile() throws {
    let home = try ConfigurationDocument.load(file: nil, environment: ["HOME": "/home/x"])
    let reader = ConfigurationReader(home)
    #expect(reader.dataFolder == "/home/x/.local/state/awd")
    #expect(problems(reader) == "")
    let homeless = ConfigurationReader(
      try ConfigurationDocument.load(file: nil, environment: [:]))
    #expect(
      problems(homeless)
        == "server.data: expected the path of a folder; without HOME there is no default")
    let data = try ConfigurationDocument.load(
      file: nil, environment: ["HOME": "/home/x", "AWD_SERVER_DATA": "here"])
    #expect(ConfigurationReader(data).dataFolder == "here")
  }
}
