internal import FoundationEssentials

extension CommandContext {
  /// Prints a value as JSON if `--json` is given, and else in words.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - printWords: prints it in words.
  package func print(json value: some Encodable, or printWords: () -> Void) throws {
    if arguments.has("json") { try print(json: value) } else { printWords() }
  }

  /// Prints a value as JSON, indented and with sorted keys, in the style of every command. What could change a terminal's
  /// state or direction is escaped, so that a program reads it and nobody is deceived by it.
  ///
  /// - Parameter value: the value to print.
  /// - Throws: the error of the value's encoding.
  package func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    print(Self.escaped(String(decoding: try encoder.encode(value), as: UTF8.self)))
  }

  /// Escapes what isn't printable; outside of strings JSON has nothing of the kind but line feeds.
  private static func escaped(_ json: String) -> String {
    var text = ""
    for scalar in json.unicodeScalars {
      guard scalar != "\n", !scalar.isPrintable else {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
        let digits = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return text
  }
}
