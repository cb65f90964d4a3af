internal import FoundationEssentials

extension CommandContext {
  /// Prints a value as JSON, indented and with sorted keys, in the style of every command.
  ///
  /// - Parameter value: the value to print.
  /// - Throws: the error of the value's encoding.
  public func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }
}
