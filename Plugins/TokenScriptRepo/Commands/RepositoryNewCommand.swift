internal import TokenScriptRepoResources
internal import Ethereum
internal import ServiceKit
internal import Platform

/// `awd repo new`: writes a TokenScript to begin with.
struct RepositoryNewCommand: Command {
  static let name = "repo new"
  static let summary = "Write a valid TokenScript for a contract, to begin with"
  static let parameters: [CommandParameter] = [
    .option("contract", value: "ADDRESS", "the contract: 0x and 40 hexadecimal digits (required)"),
    .option("chain", value: "ID", "the number of the contract's chain; 1 by default"),
    .option("name", value: "NAME", "the contract's name in the file; Token by default"),
    .option(
      "namespace", value: "YYYY/MM", "the version: 2020/06, 2022/09 or 2024/01, the last by default"
    ),
    .option("interface", value: "INTERFACE", "erc20, erc721 or erc1155; erc20 by default"),
    .operand("FILE", "the file to write, NAME.tsml"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let text = try arguments.required("contract", "ADDRESS")
    guard let contract = EthereumAddress(text), EthereumAddress.checksum(of: text) != .wrong else {
      throw CommandError.usage(
        "--contract: expected 0x and 40 hexadecimal digits, of one case or with their checksum")
    }
    let chain = try arguments.chain("chain") ?? .main
    let interface = arguments["interface"] ?? "erc20"
    guard ["erc20", "erc721", "erc1155"].contains(interface) else {
      throw CommandError.usage("--interface: expected erc20, erc721 or erc1155")
    }
    let name = arguments["name"] ?? "Token"
    // As XML's names, in ASCII.
    guard name.wholeMatch(of: /[A-Za-z][A-Za-z0-9._-]{0,63}/) != nil else {
      throw CommandError.usage(
        "--name: expected a letter and then letters, digits, “.”, “_” and “-”")
    }
    let version = arguments["namespace"] ?? "2024/01"
    guard let template = template(of: version) else {
      throw CommandError.usage("--namespace: expected 2020/06, 2022/09 or 2024/01")
    }
    let path = arguments.operands[0]
    guard RepositoryPath(path).kind == .tokenScript else {
      throw CommandError.usage(
        "FILE: expected a name that ends in .tsml or .xml, as the repository ignores others")
    }
    // One contract and one card.
    let file = String(decoding: template, as: UTF8.self)
      .replacing("{{namespace}}", with: version).replacing("{{name}}", with: name).replacing(
        "{{interface}}", with: interface
      )
      .replacing("{{chain}}", with: "\(chain)").replacing("{{address}}", with: contract.checksummed)
    try await ThreadPool(named: "awd-new", width: 1).run {
      do throws(SystemError) {
        try DurableFile.create(path, Array(file.utf8))
      } catch { throw CommandError.refused("\(path): it can't be written: \(error)".printable) }
    }
    context.print("\(path): a TokenScript for \(contract) on \(chain.title)".printable)
    context.print(
      "next: awd repo sign --key KEY '\(path)', then awd repo verify '\(path)'".printable)
  }

  /// Returns the template of a version, or nil if there is none. Each is valid against the official tool's schema.
  private static func template(of version: String) -> [UInt8]? {
    switch version {
    case "2020/06": Resource(tokenscript_new_2020_06_tsml()).bytes
    case "2022/09", "2024/01": Resource(tokenscript_new_tsml()).bytes
    default: nil
    }
  }
}
