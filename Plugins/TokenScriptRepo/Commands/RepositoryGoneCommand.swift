internal import Cryptography
internal import Glibc
internal import ServiceKit
internal import SystemCalls

/// `awd repo gone`: marks what files served as gone, by renaming them.
struct RepositoryGoneCommand: Command {
  static let name = "repo gone"
  static let summary = "Take files back for good: wallets are told 410 Gone, not 404"
  static let parameters: [CommandParameter] = [
    .configuration,
    .operands(
      "FILE|CONTRACT", atLeast: 1,
      "a TokenScript; or an address, for all files that are served for it"),
  ]

  /// A file to be renamed, and what it is served for.
  private struct Mark {
    let path: String
    let file: TokenScriptFile

    var target: String { path + ".gone" }
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = TokenScriptConfiguration(
      try context.configuration(for: TokenScriptService.self))
    let operands = context.arguments.operands
    try await WorkerThreads.run {
      // All that can be wrong is found before anything is renamed.
      var marks: [Mark] = []
      for operand in operands {
        let found =
          if let contract = EthereumAddress(operand) {
            try Self.marks(for: contract, in: configuration)
          } else { [try Self.mark(operand, in: configuration.repository)] }
        for mark in found where !marks.contains(where: { $0.path == mark.path }) {
          marks.append(mark)
        }
      }
      for mark in marks {
        try Self.rename(mark)
        let contracts = mark.file.origins.map(\.checksummed).joined(separator: ", ")
        context.print("\(mark.target): \(mark.file.schema) is gone for \(contracts)".printable)
      }
    }
  }

  /// The mark for a file.
  private static func mark(_ operand: String, in root: String) throws(CommandError) -> Mark {
    let source = CommandFile(operand, orIn: root)
    let path = source.path
    guard RepositoryPath(path).kind == .tokenScript else {
      throw .refused("\(path): only a file *.tsml or *.xml is ever served, so nothing can be gone")
    }
    do throws(Refusal) {
      let file = try TokenScriptReader().read(source.contents(), now: 0)
      guard !file.origins.isEmpty else {
        throw Refusal(reason: "it names no contract as its origin", detail: "")
      }
      return Mark(path: path, file: file)
    } catch { throw .refused("\(path): \(error.words); it can't mark anything as gone") }
  }

  /// The marks for all files that describe a contract's tokens.
  private static func marks(
    for contract: EthereumAddress, in configuration: TokenScriptConfiguration
  ) throws -> [Mark] {
    let folder: RepositoryFolder
    let entries: [RepositoryFolder.Entry]
    do throws(SystemError) {
      folder = try RepositoryFolder(configuration.repository)
      entries = try folder.list().entries
    } catch { throw RepositoryError(folder: configuration.repository, reason: "\(error)") }
    let marks = entries.compactMap { entry -> Mark? in
      guard entry.path.kind == .tokenScript, let bytes = try? folder.read(entry).bytes,
        let file = try? TokenScriptReader().read(bytes, now: 0), file.origins.contains(contract)
      else { return nil }
      return Mark(path: "\(configuration.repository)/\(entry.path)", file: file)
    }
    guard !marks.isEmpty else {
      throw CommandError.refused(
        "\(contract): no file in \(configuration.repository) is served for it")
    }
    for mark in marks where mark.file.origins.count > 1 {
      throw CommandError.refused(
        "\(mark.path) is served for \(mark.file.origins.count) contracts, which would all be gone; "
          + "name the file if that is meant, else take the address out of it")
    }
    return marks
  }

  private static func rename(_ mark: Mark) throws(CommandError) {
    guard unsafe access(mark.target, F_OK) != 0 else {
      throw .refused("\(mark.target) is there already; remove it or \(mark.path) first")
    }
    do throws(SystemError) {
      guard unsafe Glibc.rename(mark.path, mark.target) == 0 else { throw SystemError(errno) }
      try DurableFile.sync(folderOf: mark.target)
    } catch { throw .refused("\(mark.path) can't be renamed: \(error)") }
  }
}
