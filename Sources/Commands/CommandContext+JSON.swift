import FoundationEssentials
import ServiceKit

extension CommandContext {
  /// Prints a value as JSON, with its keys sorted.
  func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }
}
