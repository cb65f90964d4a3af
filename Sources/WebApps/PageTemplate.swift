/// A value that stands in a place of a ``PageTemplate``, or decides whether and how often a part of it stands there.
package protocol PageValue: Sendable {}

extension String: PageValue {}
extension Bool: PageValue {}
extension Array: PageValue where Element == PageTemplate.Values {}

/// A page with places for values, in a part of Mustache's language.
///
/// `{{name}}` is a text, which is escaped, and `{{&name}}` HTML. The part from `{{#name}}` to `{{/name}}` appears once for
/// true and for a text that isn't empty, and for each element of a list with its values. A part that begins with `{{^name}}`
/// appears in all other cases.
package struct PageTemplate: Sendable {
  /// The values of places, by their names.
  package typealias Values = [String: (any PageValue)?]

  private enum Part {
    case html(String)
    case place(String, isHTML: Bool)
    case section(String, isInverted: Bool, [Part])
  }

  private let parts: [Part]

  /// Reads a template.
  ///
  /// - Parameter source: the template in UTF-8; the end of its last line is no part of it.
  package init(_ source: [UInt8]) {
    var rest = String(decoding: source, as: UTF8.self)[...]
    if rest.last == "\n" { rest.removeLast() }
    parts = Self.parts(&rest)
  }

  /// Reads parts up to the end of their section.
  private static func parts(_ rest: inout Substring) -> [Part] {
    var parts: [Part] = []
    while let open = rest.firstRange(of: "{{") {
      let html = rest[..<open.lowerBound]
      let tag = rest[open.upperBound...].prefix { $0 != "}" }
      rest = rest[tag.endIndex...].dropFirst(2)
      parts.append(.html(String(html)))
      let name = String(tag.drop { "#^/&".contains($0) })
      // A line with nothing but the tag of a section is no line of the page.
      if tag.first != "&", tag.count != name.count, html.isEmpty || html.hasSuffix("\n"),
        rest.first == "\n"
      {
        rest.removeFirst()
      }
      switch tag.first {
      case "/": return parts
      case "#": parts.append(.section(name, isInverted: false, Self.parts(&rest)))
      case "^": parts.append(.section(name, isInverted: true, Self.parts(&rest)))
      case let first: parts.append(.place(name, isHTML: first == "&"))
      }
    }
    defer { rest = "" }
    return parts + [.html(String(rest))]
  }

  /// Returns the page with values in its places.
  package func html(_ values: Values) -> String {
    var html = ""
    Self.append(parts, values, to: &html)
    return html
  }

  private static func append(_ parts: [Part], _ values: Values, to html: inout String) {
    for part in parts {
      switch part {
      case .html(let text): html += text
      case .place(let name, let isHTML):
        guard let text = values[name] as? String else { continue }
        html += isHTML ? text : text.htmlEscaped
      case .section(let name, let isInverted, let content):
        let elements: [Values] =
          switch values[name] ?? nil {
          case let list as [Values]: list
          case let text as String: text.isEmpty ? [] : [values]
          case let isTrue as Bool: isTrue ? [values] : []
          default: []
          }
        guard !isInverted else {
          if elements.isEmpty { append(content, values, to: &html) }
          continue
        }
        for element in elements { append(content, element, to: &html) }
      }
    }
  }
}

extension String {
  /// The text, escaped for HTML and for attributes in quotes.
  package var htmlEscaped: String {
    var escaped = ""
    for character in unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
