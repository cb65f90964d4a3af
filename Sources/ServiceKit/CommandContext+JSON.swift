internal import FoundationEssentials

extension CommandContext {
  /// Prints a value as JSON, indented and with its keys sorted: how every command does.
  ///
  /// - Parameter value: what is printed.
  /// - Throws: what the value's encoding throws.
  public func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }
}
