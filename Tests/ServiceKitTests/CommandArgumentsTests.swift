internal import ServiceKit
internal import Testing

@Suite struct CommandArgumentsTests {
  static let parameters: [CommandParameter] = [
    .configuration, .json, .operand("NAME", "a name"), .operands("FILE", atLeast: 1, "files"),
  ]

  @Test func optionsAndOperandsInAnyOrder() throws {
    let words = ["a", "--config", "x.toml", "b", "--json", "-", "--config=y=z", "--", "--json"]
    let arguments = try CommandArguments(words, for: Self.parameters)
    #expect(arguments.operands == ["a", "b", "-", "--json"])
    #expect(arguments["config"] == "y=z" && arguments.has("json"))
    #expect(arguments["key"] == nil && !arguments.has("config"))
    #expect(arguments.all("config") == ["x.toml", "y=z"] && arguments.all("key").isEmpty)
  }

  @Test(arguments: [
    ([], "NAME is missing"), (["a"], "FILE is missing"),
    (["a", "b", "--nope"], "unknown option --nope"),
    (["a", "b", "-j"], "unknown option -j"), (["a", "b", "--json=1"], "--json takes no value"),
    (["a", "b", "--config"], "--config needs a value: --config FILE"),
    (["a", "b", "--config="], "--config needs a value: --config FILE"),
  ])
  func refusals(_ words: [String], _ problem: String) {
    #expect(throws: CommandError.usage(problem)) {
      try CommandArguments(words, for: Self.parameters)
    }
  }

  @Test func noOperandIsTakenSilently() {
    #expect(throws: CommandError.usage("unexpected argument x")) {
      try CommandArguments(["x", "y"], for: [.json])
    }
    #expect(throws: CommandError.usage("unexpected argument y")) {
      try CommandArguments(["x", "y", "z"], for: [.operand("NAME", "")])
    }
  }
}
