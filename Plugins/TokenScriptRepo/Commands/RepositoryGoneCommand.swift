internal import Ethereum
internal import Glibc
internal import ServiceKit
internal import Platform
internal import Formats

/// `awd repo gone`: withdraws files for good, by renaming them, and published ones in the store.
struct RepositoryGoneCommand: Command {
  static let name = "repo gone"
  static let summary = "Withdraw files for good: wallets get 410 Gone instead of 404"
  static let parameters: [CommandParameter] = [
    .configuration,
    .operands(
      "FILE|CONTRACT", atLeast: 1,
      "a TokenScript, or published/… as awd repo list has it; or an address, for all its files"),
  ]

  /// A file to rename, and its meaning.
  private struct Mark {
    let path: String
    let file: TokenScriptFile

    var target: String { path + ".gone" }
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try context.configuration(for: TokenScriptService.self)
    let stored = try await context.serviceContext(for: TokenScriptService.self, onlyToRead: true)
    let present = try await ContractStore(stored.store).publications(after: 0).publications
      .filter { !$0.isWithdrawn }
    let published = try context.arguments.operands.map { operand throws(CommandError) in
      try publications(operand, among: present)
    }
    // An address may have files in both places.
    let operands = zip(context.arguments.operands, published).filter {
      $1.isEmpty || EthereumAddress($0) != nil
    }.map { (name: $0, isPublished: !$1.isEmpty) }
    try await ThreadPool(named: "awd-scan", width: 1).run {
      // All faults are found before anything is renamed.
      var marks: [Mark] = []
      for operand in operands {
        let found =
          if let contract = EthereumAddress(operand.name) {
            try Self.marks(for: contract, in: configuration, isPublished: operand.isPublished)
          } else { [try Self.mark(operand.name, in: configuration.repository)] }
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
    let withdrawn = Array(published.joined())
    guard !withdrawn.isEmpty else { return }
    let lent = try await context.serviceContext(for: TokenScriptService.self)
    try await ContractStore(lent.store).withdraw(withdrawn)
    for file in withdrawn { context.print("\(file.path): withdrawn".printable) }
  }

  /// Returns the publications that an operand means: the one at a path, or all that are only for a contract.
  private static func publications(
    _ operand: String, among all: [PublishedFile]
  ) throws(CommandError) -> [PublishedFile] {
    guard let contract = EthereumAddress(operand) else {
      return all.filter { $0.path.text == operand }
    }
    let own = all.filter { $0.origins.contains { $0.address == contract } }
    for file in own where Set(file.origins.map(\.address)).count > 1 {
      throw .refused(
        "\(file.path) is served for several contracts, which would all be gone; name the file")
    }
    return own
  }

  /// Makes the mark of a file.
  private static func mark(_ operand: String, in root: String) throws(CommandError) -> Mark {
    let source = CommandFile(operand, orIn: root)
    let path = source.path
    let isThere = unsafe access(path, F_OK) == 0
    guard isThere || !operand.hasPrefix("0x") else {
      throw .refused(
        "\(operand): there is no such file, and it is no contract's address: 0x and 40 hexadecimal "
          + "digits")
    }
    guard source.isBelow(root) else {
      throw .refused("\(path): it is no file of the repository \(root)")
    }
    guard RepositoryPath(path).kind == .tokenScript else {
      throw .refused(
        "\(path): only files *.tsml and *.xml are served, so this one can't be withdrawn")
    }
    do throws(FileRefusal) {
      let file = try TokenScriptReader().read(source.contents(), now: .now())
      guard !file.origins.isEmpty else {
        throw FileRefusal(reason: "it names no contract as its origin")
      }
      return Mark(path: path, file: file)
    } catch { throw .refused("\(path): \(error.words); it can't be withdrawn") }
  }

  /// Makes the marks of all files with the contract among their origins.
  private static func marks(
    for contract: EthereumAddress, in configuration: TokenScriptConfiguration, isPublished: Bool
  ) throws -> [Mark] {
    let (folder, entries) = try RepositoryError.naming(configuration.repository) {
      () throws(SystemError) in
      let folder = try RepositoryFolder(configuration.repository)
      return (folder, try folder.list().entries)
    }
    let marks = entries.compactMap { entry -> Mark? in
      guard entry.path.kind == .tokenScript, let bytes = try? folder.read(entry).bytes.array,
        let file = try? TokenScriptReader().read(bytes, now: .now()),
        file.origins.contains(contract)
      else { return nil }
      return Mark(path: "\(configuration.repository)/\(entry.path)", file: file)
    }
    guard !marks.isEmpty || isPublished else {
      throw CommandError.refused(
        "\(contract): no file in \(configuration.repository) is served for it")
    }
    for mark in marks where mark.file.origins.count > 1 {
      throw CommandError.refused(
        "\(mark.path) is served for \(mark.file.origins.count) contracts, which would all be gone; "
          + "name the file to withdraw them all, or remove the address from the file")
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
