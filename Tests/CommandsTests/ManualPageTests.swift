internal import ServiceKit
internal import TestSupport
internal import Testing

@testable import Commands

@Suite struct ManualPageTests {
  @Test func groffFindsNothingToComplainOf() throws {
    let page = ManualPage(commands: Program.commands(with: [])).text
    let outcome = try ChildProcess("groff", ["-man", "-Tutf8", "-ww"], input: page + "\n").outcome()
    #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    #expect(outcome.output.contains("otherwise AWD_CONFIG names it"))
  }

  @Test func everyCommandHasASection() {
    let commands = Program.commands(with: []).filter { !$0.isHidden }
    let page = ManualPage(commands: commands).text
    for command in commands { #expect(page.contains("\n.SS awd \(command.name)")) }
    #expect(!page.contains("awd complete "))
  }
}
