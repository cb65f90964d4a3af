internal import Formats
internal import Configuration
internal import Testing

private enum Policy: String, CaseIterable, Sendable {
  case require, warn, off
}

@Suite struct ConfigurationSectionTests {
  /// Reads a key of a kind, and returns its value as text.
  static func read(_ kind: String, _ section: ConfigurationSection) -> String {
    switch kind {
    case "string": section.string("k", default: "-")
    case "bool": "\(section.bool("k", default: false))"
    case "integer": "\(section.integer("k", default: 1, in: 0...1024))"
    case "duration":
      "\(section.duration("k", default: .seconds(1), in: .zero ... .seconds(864_000)))"
    case "size": "\(section.size("k", default: 1, in: 0...(1 << 30)))"
    case "strings": "\(section.values("k", default: ["-"], expected: "a string", parse: \.self))"
    case "choice": section.choice("k", default: Policy.off).rawValue
    case "path": section.path("k", default: "-")
    case "data path": section.path("k", default: "-", relativeTo: .data)
    case "secret": section.secret("k").value
    case "names": "\(section.names("k", default: [], among: ["tokenscript", "msgr"]))"
    case "value":
      "\(section.value("k", default: 0, expected: "an even number", parse: { Int($0).flatMap { $0.isMultiple(of: 2) ? $0 : nil } }))"
    case "optional":
      "\(section.optionalValue("k", expected: "a network", parse: { AddressRange($0) })?.description ?? "none")"
    case "values":
      "\(section.values("k", default: [], expected: "a network", parse: { AddressRange($0) }))"
    case "dictionary":
      section.dictionary("k").sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(
        separator: " ")
    default: "no such kind"
    }
  }

  @Test(arguments: [
    ("string", "'x'", "x"), ("string", #""a\u00e9""#, "aé"), ("string", "''", ""),
    ("bool", "true", "true"), ("bool", "false", "false"),
    ("integer", "0", "0"), ("integer", "1_024", "1024"), ("integer", "0x10", "16"),
    ("duration", "'30s'", "30.0 seconds"), ("duration", "'500ms'", "0.5 seconds"),
    ("duration", "'10m'", "600.0 seconds"), ("duration", "'24h'", "86400.0 seconds"),
    ("duration", "'7d'", "604800.0 seconds"), ("duration", "'0s'", "0.0 seconds"),
    ("size", "'512B'", "512"), ("size", "'64KiB'", "65536"), ("size", "'1MiB'", "1048576"),
    ("size", "'1GiB'", "1073741824"), ("size", "'0B'", "0"),
    ("strings", "[]", "[]"), ("strings", "['a', \"b\",]", #"["a", "b"]"#),
    ("choice", "'require'", "require"),
    ("path", "'a/b'", "etc/a/b"), ("path", "'/a'", "/a"), ("path", "''", ""),
    ("data path", "'a'", "etc/var/a"), ("data path", "'/a'", "/a"),
    ("secret", "'s3cret'", "s3cret"),
    ("names", "['msgr']", #"["msgr"]"#),
    ("value", "'4'", "4"), ("optional", "''", "none"), ("optional", "'10.0.0.0/8'", "10.0.0.0/8"),
    ("values", "['::1', '10.1.2.3/8']", "[::1, 10.0.0.0/8]"),
    ("dictionary", "{ b = 'x', a = 'y' }", "a:y b:x"), ("dictionary", "{}", ""),
  ])
  func good(kind: String, written: String, expected: String) throws {
    let reader = try reader("[s]\nk = \(written)", file: "etc/awd.toml")
    #expect(Self.read(kind, reader.section("s")) == expected)
    #expect(problems(reader) == "")
    #expect(reader.settings.last?.origin == .file("etc/awd.toml", line: 2, column: 5))
  }

  @Test(arguments: [
    ("string", "1", "2:5: s.k: expected a string, found 1"),
    ("string", "1979-05-27", "2:5: s.k: expected a string, found a date"),
    ("string", #""a\u0000b""#, #"2:5: s.k: expected a string without NUL, found "a\u0000b""#),
    ("string", "{ a = 1 }", "2:5: s.k: expected a string, found a table"),
    ("bool", "1", "2:5: s.k: expected true or false, found 1"),
    ("bool", "'true'", #"2:5: s.k: expected true or false, found "true""#),
    ("integer", "1025", "2:5: s.k: expected an integer from 0 to 1024, found 1025"),
    ("integer", "-1", "2:5: s.k: expected an integer from 0 to 1024, found -1"),
    ("integer", "12.5", "2:5: s.k: expected an integer from 0 to 1024, found 12.5"),
    ("integer", "'7'", #"2:5: s.k: expected an integer from 0 to 1024, found "7""#),
    (
      "duration", "30",
      #"2:5: s.k: expected a duration in ms, s, m, h or d such as "30s", found 30"#
    ),
    (
      "duration", "'30'",
      #"2:5: s.k: expected a duration in ms, s, m, h or d such as "30s", found "30""#
    ),
    (
      "duration", "'s'",
      #"2:5: s.k: expected a duration in ms, s, m, h or d such as "30s", found "s""#
    ),
    (
      "duration", "'-1s'",
      #"2:5: s.k: expected a duration in ms, s, m, h or d such as "30s", found "-1s""#
    ),
    (
      "duration", "'1.5h'",
      #"2:5: s.k: expected a duration in ms, s, m, h or d such as "30s", found "1.5h""#
    ),
    (
      "duration", "'99999999999999999d'",
      #"2:5: s.k: expected a duration in ms, s, m, h or d such as "30s", found "99999999999999999d""#
    ),
    ("duration", "'11d'", #"2:5: s.k: expected a duration from "0s" to "10d", found "11d""#),
    (
      "size", "12.5",
      #"2:5: s.k: expected a size in B, KiB, MiB, GiB or TiB such as "64KiB", found 12.5"#
    ),
    (
      "size", "'64KB'",
      #"2:5: s.k: expected a size in B, KiB, MiB, GiB or TiB such as "64KiB", found "64KB""#
    ),
    (
      "size", "'+1B'",
      #"2:5: s.k: expected a size in B, KiB, MiB, GiB or TiB such as "64KiB", found "+1B""#
    ),
    (
      "size", "'9999999999TiB'",
      #"2:5: s.k: expected a size in B, KiB, MiB, GiB or TiB such as "64KiB", found "9999999999TiB""#
    ),
    ("size", "'2GiB'", #"2:5: s.k: expected a size from "0B" to "1GiB", found "2GiB""#),
    ("strings", "'a'", #"2:5: s.k: expected a list of strings, found "a""#),
    (
      "strings", "['a', 1, true]",
      "2:11: s.k[1]: expected a string, found 1\nawd.toml:2:14: s.k[2]: expected a string, found true"
    ),
    (
      "choice", "'of'",
      #"2:5: s.k: expected one of "require", "warn", "off", found "of", did you mean "off"?"#
    ),
    ("choice", "'x'", #"2:5: s.k: expected one of "require", "warn", "off", found "x""#),
    ("path", "[]", "2:5: s.k: expected a path, found an array"),
    ("secret", "12345", "2:5: s.k: expected a string, found something else"),
    (
      "names", "['msgr', 'tokenscripts', 'msgr']",
      #"2:14: s.k[1]: expected one of "tokenscript", "msgr", found "tokenscripts", did you mean "tokenscript"?"#
        + "\n" + #"awd.toml:2:30: s.k[2]: expected each name once, found "msgr""#
    ),
    ("value", "'3'", #"2:5: s.k: expected an even number, found "3""#),
    ("optional", "'x'", #"2:5: s.k: expected a network, found "x""#),
    ("values", "['x']", #"2:6: s.k[0]: expected a network, found "x""#),
    ("dictionary", "[]", "2:5: s.k: expected a table of strings, found an array"),
    (
      "dictionary", "{ a = 1, 'b c' = {} }",
      "2:11: s.k.a: expected a string, found 1\nawd.toml:2:22: s.k.\"b c\": expected a string, found a table"
    ),
  ])
  func bad(kind: String, written: String, expected: String) throws {
    let reader = try reader("[s]\nk = \(written)")
    let fallback = try Self.read(kind, ConfigurationSectionTests.empty())
    #expect(Self.read(kind, reader.section("s")) == fallback)
    #expect(problems(reader) == "awd.toml:" + expected)
    #expect(reader.settings.last?.origin == .default)
  }

  static func empty() throws -> ConfigurationSection {
    try reader("").section("s")
  }

  @Test(arguments: [
    ("string", "1", "1"), ("bool", "true", "true"), ("integer", "1024", "1024"),
    ("duration", "30s", "30.0 seconds"), ("size", "64KiB", "65536"),
    ("strings", "a, b,c", #"["a", "b", "c"]"#), ("strings", "", "[]"), ("choice", "warn", "warn"),
    ("path", "x", "x"), ("secret", "s", "s"), ("names", "tokenscript", #"["tokenscript"]"#),
    ("values", "::1,10.0.0.0/8", "[::1, 10.0.0.0/8]"),
    ("dictionary", "0xa=0xb, 0xc = d=e", "0xa:0xb 0xc:d=e"),
    ("strings", #" ["a, b", 'c'] "#, #"["a, b", "c"]"#),
    ("strings", "[::1]:80,[a]", #"["[::1]:80", "[a]"]"#),
    ("strings", "[]", "[]"), ("names", "['msgr']", #"["msgr"]"#),
  ])
  func variable(kind: String, written: String, expected: String) throws {
    let reader = try reader("[s]\nk = 1979-05-27", ["AWD_S_K": written])
    #expect(Self.read(kind, reader.section("s")) == expected)
    #expect(problems(reader) == "")
    #expect(reader.settings.last?.origin == .environment("AWD_S_K"))
  }

  @Test(arguments: [
    ("bool", "yes", #"s.k: expected true or false, found "yes""#),
    ("integer", "many", #"s.k: expected an integer from 0 to 1024, found "many""#),
    (
      "size", "12.5",
      #"s.k: expected a size in B, KiB, MiB, GiB or TiB such as "64KiB", found "12.5""#
    ),
    ("names", "msgr,", #"s.k[1]: expected one of "tokenscript", "msgr", found """#),
    ("strings", "['a', 1]", "s.k[1]: expected a string, found 1"),
    ("dictionary", "a", #"s.k[0]: expected key=value, each key once, found "a""#),
    ("dictionary", "a=1,a=2", #"s.k[1]: expected key=value, each key once, found "a=2""#),
  ])
  func badVariable(kind: String, written: String, expected: String) throws {
    let reader = try reader("", ["AWD_S_K": written])
    _ = Self.read(kind, reader.section("s"))
    #expect(problems(reader) == "AWD_S_K: " + expected)
  }

  @Test func tables() throws {
    let reader = try reader(
      """
      [[s.clients]]
      name = "a"
      [[s.clients]]
      nmae = "b"
      """)
    let clients = reader.section("s").tables("clients")
    #expect(clients.map { $0.string("name", default: "-") } == ["a", "-"])
    #expect(clients.map(\.name) == ["s.clients[0]", "s.clients[1]"])
    #expect(
      problems(reader) == "awd.toml:4:1: s.clients[1].nmae: unknown key, did you mean `name`?")
    #expect(reader.settings.map(\.key).suffix(2) == ["s.clients[0].name", "s.clients[1].name"])
  }

  @Test func tablesOfWrongType() throws {
    let reader = try reader("[s]\nclients = [1, {}]\nothers = 2", ["AWD_S_MORE": "x"])
    let section = reader.section("s")
    #expect(section.tables("clients").count == 1)
    #expect(section.tables("others").isEmpty)
    #expect(section.tables("more").isEmpty)
    #expect(
      problems(reader) == """
        awd.toml:2:12: s.clients[0]: expected a table, found 1
        awd.toml:3:10: s.others: expected an array of tables, found 2
        AWD_S_MORE: s.more: expected an array of tables, which only the file can give, found something else
        """)
  }

  @Test func nestedSections() throws {
    let reader = try reader("[a]\nb = { c = 'x' }\nd = 3\n[a.e]\nf = 'y'")
    let section = reader.section("a")
    #expect(section.section("b").string("c", default: "") == "x")
    #expect(section.section("d").string("c", default: "-") == "-")
    #expect(section.section("e").string("f", default: "") == "y")
    #expect(
      problems(reader)
        == "awd.toml:3:5: a.d: expected a table, found 3; write [a.d], and its keys below it")
  }

  @Test func rejectedValue() throws {
    let reader = try reader("[s]\nk = 'x'")
    let section = reader.section("s")
    _ = section.string("k", default: "")
    _ = section.string("l", default: "")
    section.reject("k", "expected a folder that exists")
    section.reject("l", "expected something")
    #expect(
      problems(reader)
        == "awd.toml:2:5: s.k: expected a folder that exists\ns.l: expected something")
  }

  @Test func finishOfOneSection() throws {
    let reader = try reader("[a]\nx = 1\n[b]\ny = 2\n[ab]\nz = 3", ["AWD_A_Q": "", "AWD_B_Q": ""])
    let section = reader.section("a")
    _ = section.string("x", default: "")
    let error = #expect(throws: ConfigurationError.self) { try section.finish() }
    #expect(
      error?.description
        == "awd.toml:2:5: a.x: expected a string, found 1\nAWD_A_Q: is for no known key, did you mean AWD_A_X?"
    )
  }

  @Test func settingsShowNoSecrets() throws {
    let file = try TemporaryFile(Array("hidden\n".utf8))
    let reader = try reader("[s]\na = 'secret'\nt = 5", ["AWD_S_B_FILE": file.path])
    let section = reader.section("s")
    #expect(section.secret("a").value == "secret")
    #expect(section.string("b", default: "") == "hidden")
    _ = section.secret("c")
    _ = section.duration("t", default: .seconds(90))
    #expect(
      reader.settings.map(\.description) == [
        #"server.data = "var"  # default"#,
        #"s.a = "***"  # awd.toml:2:5"#,
        #"s.b = "***"  # AWD_S_B_FILE"#,
        #"s.c = ""  # default"#,
        #"s.t = "90s"  # default"#,
      ])
  }

  @Test func secretDoesNotShow() {
    let secret = Secret("hunter2")
    var dumped = ""
    dump([secret], to: &dumped)
    #expect("\(secret)\(String(reflecting: secret))" == "******")
    #expect(!dumped.contains("hunter2"))
    #expect(Secret("").isEmpty && !secret.isEmpty)
  }
}
