internal import Testing

@testable import Commands

@Suite struct ProgramTests {
  @Test(arguments: [
    (["--help"], 0, "usage: awd COMMAND"),
    (["serve", "--help"], 0, "usage: awd serve [--config FILE]"),
    (["sample", "--help"], 0, "usage: awd sample COMMAND"),
    (["sample", "greet", "--help"], 0, "usage: awd sample greet [--config FILE] NAME"),
    (["sample", "greet", "all", "--help"], 0, "Greet everyone"),
    (["version"], 0, "awd "), (["sample", "greet", "Ann"], 0, "hello Ann"),
  ])
  func output(_ words: [String], _ code: Int32, _ text: String) async {
    let session = Session()
    #expect(await session.run(words) == code)
    #expect(session.output.contains(text) && session.errors.isEmpty)
  }

  @Test(arguments: [
    ([], "usage: awd COMMAND"), (["sample"], "usage: awd sample COMMAND"),
    (["nope"], "unknown command nope"), (["--nope"], "unknown option --nope"),
    (["sample", "nope"], "unknown command sample nope"),
    (["serve", "--nope"], "unknown option --nope"),
    (["serve", "x"], "unexpected argument x"), (["sample", "greet"], "NAME is missing"),
    (["check", "--config"], "try: awd check --help"),
  ])
  func usage(_ words: [String], _ text: String) async {
    let session = Session()
    #expect(await session.run(words) == 2)
    #expect(session.errors.contains(text) && session.output.isEmpty)
  }

  @Test func aCommandThatOpensTheStore() async throws {
    let folder = try Folder(["awd.toml": "[sample]\ngreeting = \"hi\"\n"])
    let session = Session()
    #expect(
      await session.run(["sample", "greet", "all", "--config", "\(folder.path)/awd.toml"]) == 1)
    #expect(session.errors == "awd sample greet all: nobody is there")
    let greeted = Session()
    #expect(
      await greeted.run(["sample", "greet", "Bo", "--config", "\(folder.path)/awd.toml"]) == 0)
    #expect(greeted.output == "hi Bo")
  }
}
