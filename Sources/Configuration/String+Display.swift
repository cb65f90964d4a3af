internal import Formats

extension String {
  /// The text in one line, with TOML's escapes for invisible characters.
  var singleLine: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
          let digits = String(scalar.value, radix: 16, uppercase: true)
          let width = digits.count <= 4 ? 4 : 8
          text += width == 4 ? "\\u" : "\\U"
          text += String(repeating: "0", count: width - digits.count) + digits
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    return text
  }

  /// The text as a TOML basic string in one line.
  var quoted: String {
    var text = ""
    for scalar in unicodeScalars {
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return "\"\(text.singleLine)\""
  }

  /// The text as a TOML key, bare if possible.
  var asKey: String {
    let bare = utf8.allSatisfy { $0.isLetterOrDigit || "_-".utf8.contains($0) }
    return bare && !isEmpty ? self : quoted
  }

  /// The first 64 characters, with an ellipsis if there are more.
  var shortened: String {
    unicodeScalars.count <= 64 ? self : String(unicodeScalars.prefix(64)) + "…"
  }
}
