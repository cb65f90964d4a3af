internal import Configuration
internal import Testing

@Suite struct ConfigurationReaderTests {
  @Test func allProblemsInTheOrderOfTheFile() throws {
    let reader = try reader(
      """
      [server]
      listne = ["127.0.0.1:1"]
      limits = { bdoy = "1MiB", header = 12.5 }
      [log]
      level = "loud"
      [stoer]
      url = "x"
      """, ["AWD_SERVER_THREADS": "x", "AWD_LOG_LEVLE": "info"])
    _ = ServerConfiguration(reader, knownServices: ["tokenscript"])
    #expect(
      problems(reader) == """
        awd.toml:2:1: server.listne: unknown key, did you mean `listen`?
        awd.toml:3:12: server.limits.bdoy: unknown key, did you mean `body`?
        awd.toml:3:36: server.limits.header: expected a size in B, KiB, MiB, GiB or TiB such as "64KiB", found 12.5
        awd.toml:5:9: log.level: expected one of "debug", "info", "warning", "error", found "loud"
        awd.toml:6:2: stoer: unknown key, did you mean `store`?
        AWD_LOG_LEVLE: is for no known key, did you mean AWD_LOG_LEVEL?
        AWD_SERVER_THREADS: server.threads: expected an integer from 0 to 1024, found "x"
        """)
  }

  @Test(arguments: [
    ("x = 1", "awd.toml:1:1: x: unknown key"),
    ("[server.x]\ny = 1", "awd.toml:1:9: server.x: unknown key"),
    ("[[server]]\n", "awd.toml:1:"),
    ("server.datas = 'x'", "awd.toml:1:8: server.datas: unknown key, did you mean `data`?"),
    (#""a\n.b" = 1"#, #"awd.toml:1:1: "a\n.b": unknown key"#),
    ("[SERVER]", "awd.toml:1:2: SERVER: unknown key, did you mean `server`?"),
  ])
  func unknownKeys(text: String, expected: String) throws {
    #expect(problems(try reader(text)).hasPrefix(expected))
  }

  /// A key belongs to the header above it, which may be another one than somebody thinks, or none.
  @Test func aKeyOfAnotherSection() throws {
    let reader = try reader(
      "data = 'x'\n[log]\nlisten = []\nheader = '1KiB'\nlevel = 'info'")
    _ = ServerConfiguration(reader, knownServices: ["tokenscript"])
    #expect(
      problems(reader) == """
        awd.toml:1:1: data: unknown key; it belongs below [server]
        awd.toml:3:1: log.listen: unknown key; it belongs below [server]
        awd.toml:4:1: log.header: unknown key; it belongs below [server.limits]
        """)
  }

  @Test func manyProblemsAreCut() throws {
    let text = (0..<5000).map { "key\($0) = 1" }.joined(separator: "\n")
    let lines = problems(try reader(text)).split(separator: "\n")
    #expect(lines.count == 100)
    #expect(lines.last == "awd.toml:100:1: key99: unknown key")
  }

  @Test func longKeysAreCut() throws {
    let key = String(repeating: "k", count: 100_000)
    #expect(problems(try reader("\(key) = 1")).utf8.count < 200)
  }

  @Test func sectionsNobodyReadsCanBeIgnored() throws {
    let reader = try reader("[msgr]\nx = 1\n[msgr.apns]\ny = 2", ["AWD_MSGR_X": "1"])
    #expect(problems(reader, ignoring: ["msgr", "apptimist"]) == "")
    // A variable of a section that nobody reads may be another program's.
    #expect(problems(reader) == "awd.toml:1:2: msgr: unknown key")
    _ = reader.section("msgr").string("z", default: "")
    #expect(
      problems(reader, ignoring: ["msgr"]) == """
        awd.toml:2:1: msgr.x: unknown key
        awd.toml:3:7: msgr.apns: unknown key
        AWD_MSGR_X: is for no known key, did you mean AWD_MSGR_Z?
        """)
  }

  @Test func variablesOverrideNestedSections() throws {
    let reader = try reader(
      "[msgr.apns]\nkey_id = 'file'\ntopic = 'file'",
      ["AWD_MSGR_APNS_KEY_ID": "variable", "AWD_MSGR_PUSH": "apns"])
    let msgr = reader.section("msgr")
    let apns = msgr.section("apns")
    #expect(apns.string("key_id", default: "") == "variable")
    #expect(apns.string("topic", default: "") == "file")
    #expect(msgr.string("push", default: "log") == "apns")
    #expect(problems(reader) == "")
  }

  @Test func formerNamesAreReadUnlessTheNewOnesStandBesideThem() throws {
    let names = ["msgr.apns": "push.apns", "msgr.push_streams": "push.streams"]
    func reader(_ toml: String, _ variables: [String: String] = [:]) throws -> ConfigurationReader {
      let document = try ConfigurationDocument(
        parsing: Array(toml.utf8), file: "awd.toml", environment: variables)
      return ConfigurationReader(document.renaming(names))
    }
    let old = try reader(
      "[msgr]\npush_streams = 7\n[msgr.apns]\ntopic = 'file'\nurl = 'u'",
      ["AWD_MSGR_APNS_TOPIC": "variable"])
    let push = old.section("push")
    let apns = push.section("apns")
    #expect(apns.string("topic", default: "") == "variable")
    #expect(push.integer("streams", default: 1, in: 1...9) == 7)
    _ = old.section("msgr")
    #expect(problems(old) == "awd.toml:5:1: push.apns.url: unknown key")
    let both = try reader(
      "[msgr]\npush_streams = 7\n[push]\nstreams = 8",
      ["AWD_MSGR_APNS_TOPIC": "a", "AWD_PUSH_APNS_TOPIC": "b"])
    _ = both.section("msgr")
    _ = both.section("push").section("apns").string("topic", default: "")
    _ = both.section("push").integer("streams", default: 1, in: 1...9)
    #expect(
      problems(both) == """
        awd.toml:2:1: msgr.push_streams: is the former name of push.streams, which awd.toml:4:1 has too
        AWD_MSGR_APNS_TOPIC: msgr.apns: is the former name of AWD_PUSH_APNS_TOPIC, which is set too
        """)
  }

  @Test func aTableHasNoVariableOfItsOwn() throws {
    let reader = try reader("", ["AWD_CHAINS": "1 = 'https://rpc.example'", "AWD_PORT": "tcp://x"])
    _ = reader.section("chains")
    let found = problems(reader)
    #expect(found.hasPrefix("AWD_CHAINS: a table has no variable of its own"), "\(found)")
    #expect(!found.contains("AWD_PORT"))
  }

  @Test func aVariableWithOneUnderscoreForAKeyOfOnesOwnIsMended() throws {
    let reader = try reader("", ["AWD_CHAINS_1": "https://rpc.example"])
    _ = reader.section("chains").names
    #expect(problems(reader).hasSuffix("stands behind two underscores: AWD_CHAINS__1"))
  }

  @Test func longestSectionHasTheVariable() throws {
    let reader = try reader("", ["AWD_MSGR_APNS_KEY_ID": "x"])
    let msgr = reader.section("msgr")
    #expect(msgr.section("apns").string("key_id", default: "-") == "x")
    #expect(msgr.string("apns_key_id", default: "-") == "-")
    #expect(problems(reader) == "")
  }

  @Test func variableOfTwoKeysIsRefusedIfTheShorterSectionReadFirst() throws {
    let reader = try reader("", ["AWD_MSGR_APNS_KEY_ID": "x"])
    let msgr = reader.section("msgr")
    _ = msgr.string("apns_key_id", default: "-")
    _ = msgr.section("apns").string("key_id", default: "-")
    #expect(
      problems(reader)
        == "AWD_MSGR_APNS_KEY_ID: means both msgr.apns_key_id and msgr.apns.key_id")
  }

  @Test(arguments: [("s3cret\n", "s3cret"), ("s3cret\r\n", "s3cret"), ("a\n\n", "a\n"), ("", "")])
  func valueFromFile(content: String, value: String) throws {
    let file = try TemporaryFile(Array(content.utf8))
    let reader = try reader("[s]\nk = 'file'", ["AWD_S_K_FILE": file.path])
    #expect(reader.section("s").secret("k").value == value)
    #expect(problems(reader) == "")
  }

  @Test func aPasswordInAURLIsNotShown() throws {
    let reader = try reader("[s]\nk = \"https://user:hun/ter2@a.example\"\n")
    let url: String? = reader.section("s").optionalValue("k", expected: "a URL") { _ in nil }
    #expect(url == nil)
    #expect(
      problems(reader)
        == "awd.toml:2:5: s.k: expected a URL, found a URL with an @, which isn't shown as a password may be before it"
    )
  }

  @Test func valueFromFileIsNotShown() throws {
    let file = try TemporaryFile(Array("hunter2\n".utf8))
    let reader = try reader("", ["AWD_S_K_FILE": file.path])
    _ = reader.section("s").integer("k", default: 0, in: 0...9)
    #expect(
      problems(reader)
        == "AWD_S_K_FILE: s.k: expected an integer from 0 to 9, found something else")
  }

  @Test func badFilesOfVariables() throws {
    let binary = try TemporaryFile([0xFF, 0xFE])
    let reader = try reader(
      "",
      [
        "AWD_S_A_FILE": "/nowhere/a", "AWD_S_B": "x", "AWD_S_B_FILE": binary.path,
        "AWD_S_C_FILE": binary.path, "AWD_S_D_FILE": "/tmp", "AWD_FILE": "x",
      ])
    let section = reader.section("s")
    for key in ["a", "b", "c", "d"] { _ = section.string(key, default: "") }
    #expect(
      problems(reader) == """
        AWD_S_A_FILE: cannot read /nowhere/a: No such file or directory
        AWD_S_B_FILE: is set together with AWD_S_B; only one of them may be
        AWD_S_C_FILE: \(binary.path) is not UTF-8 text
        AWD_S_D_FILE: cannot read /tmp: Is a directory
        """)
  }

  /// Kubernetes and Docker set such variables for a service that is called awd.
  @Test func variablesOfContainerPlatformsAreIgnored() throws {
    let reader = try reader(
      "",
      [
        "AWD_SERVICE_HOST": "10.0.0.1", "AWD_SERVICE_PORT": "8080", "AWD_PORT": "tcp://10.0.0.1:80",
        "AWD_PORT_8080_TCP_ADDR": "10.0.0.1", "AWD_CONFIG": "/etc/awd/awd.toml",
        "AWD_SEVER_THREADS": "2",
      ])
    _ = ServerConfiguration(reader, knownServices: ["tokenscript"])
    #expect(problems(reader) == "")
    #expect(reader.doubtfulVariables.map(\.name) == ["AWD_SEVER_THREADS"])
    #expect(reader.doubtfulVariables.map(\.meant) == ["AWD_SERVER_THREADS"])
  }

  @Test func variablesGiveTheKeysOfATable() throws {
    let file = try TemporaryFile(Array("https://two.example\n".utf8))
    let reader = try reader(
      "[chains]\n1 = 'https://file.example'",
      ["AWD_CHAINS__10": "https://ten.example", "AWD_CHAINS__2_FILE": file.path])
    let section = reader.section("chains")
    #expect(section.names == ["1", "10", "2"])
    #expect(
      section.names.map { section.string($0, default: "") }
        == ["https://file.example", "https://ten.example", "https://two.example"])
    #expect(problems(reader) == "")
  }

  @Test func variablesOfOthersAreLeftAlone() throws {
    let reader = try reader("", ["HOME": "/x", "AWDX": "1", "awd_server_data": "x"])
    #expect(problems(reader) == "")
  }

  @Test func keyReadTwiceIsReportedOnce() throws {
    let reader = try reader("[s]\nk = 1")
    for _ in 0..<2 { _ = reader.section("s").string("k", default: "") }
    #expect(problems(reader) == "awd.toml:2:5: s.k: expected a string, found 1")
    #expect(reader.settings.map(\.key) == ["server.data", "s.k"])
  }

  @Test func manyReadAtOnce() async throws {
    let reader = try reader("[s]\nk = 'x'")
    await withTaskGroup { group in
      for index in 0..<50 {
        group.addTask { reader.section("s").string("k\(index)", default: "") }
      }
    }
    #expect(reader.settings.count == 51)
    #expect(problems(reader).hasPrefix("awd.toml:2:1: s.k: unknown key"))
  }
}
