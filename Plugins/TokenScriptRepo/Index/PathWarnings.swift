internal import Ethereum

extension RepositoryPath {
  /// Compares the names in a file's path with its content.
  ///
  /// Two layouts are known: `<contract name>/schema<N>/<signer>-signed.xml` of 2018, and
  /// `<signer>/<YYYY>/<MM>/<contract name or address>.tsml` of 2019. The content decides, so a wrong name only makes a
  /// warning.
  ///
  /// - Parameter file: the meaning of the content.
  /// - Returns: a sentence for each contradiction.
  func warnings(for file: TokenScriptFile) -> [String] {
    let segments = segments.map { String(decoding: $0, as: UTF8.self) }
    guard let name = segments.last else { return [] }
    var warnings: [String] = []
    var folders = segments.dropLast()
    if folders.count >= 2, let schema = SchemaVersion(folders.suffix(2).joined(separator: "/")) {
      if schema != file.schema {
        warnings.append("the folder says schema \(schema), the file \(file.schema)")
      }
      folders = folders.dropLast(2)
      if let folder = folders.last { warnings += Self.warning(signer: folder, of: file) }
    }
    let stem = name.replacing(/\.(tsml|xml)$/, with: "")
    if stem == "signed" || stem.hasSuffix("-signed") {
      if stem != "signed" { warnings += Self.warning(signer: String(stem.dropLast(7)), of: file) }
      if let folder = folders.dropLast().last, folders.last?.hasPrefix("schema") == true {
        warnings += Self.warning(contract: folder, of: file)
      }
    } else {
      warnings += Self.warning(contract: stem, of: file)
    }
    return warnings
  }

  private static func warning(signer folder: String, of file: TokenScriptFile) -> [String] {
    guard let name = file.signer?.commonName else { return [] }
    let plain = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
    guard plain.lowercased() != folder.lowercased() else { return [] }
    return ["its name says that “\(folder)” signed it, but it was “\(name)”"]
  }

  private static func warning(contract name: String, of file: TokenScriptFile) -> [String] {
    guard !file.contracts.isEmpty else { return [] }
    if let address = EthereumAddress(name) {
      guard !file.contracts.contains(where: { $0.address == address }) else { return [] }
      return ["its name says \(name), but the file does not name that contract"]
    }
    let names = file.contracts.filter(\.isOrigin).map(\.name)
    guard !names.isEmpty, !names.contains(where: { $0.lowercased() == name.lowercased() }) else {
      return []
    }
    return ["its name says contract “\(name)”, the file “\(names[0])”"]
  }
}
