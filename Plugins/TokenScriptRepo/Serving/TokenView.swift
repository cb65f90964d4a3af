internal import XMLSecurity

/// The facts about a file that pages and frames show beside a token; there are no facts about the token itself.
enum TokenView {
  /// The largest number of bytes of a text.
  private static let textLimit = 4096
  private static let actionLimit = 64

  /// Reads the facts.
  ///
  /// - Parameters:
  ///   - root: the root of the file.
  ///   - isSigned: whether its signature holds.
  ///   - explorer: the URL of a page about the contract elsewhere, or nil.
  static func json(_ root: XMLElement, isSigned: Bool, explorer: String?) -> JSONObject {
    func url(_ name: String) -> String? { root.meta(name, limit: textLimit)?.openable }
    let cards = root.children(named: "cards", in: root.namespace).flatMap { list in
      list.children(named: "card", in: root.namespace)
    }
    let metadata: JSONObject = [
      "name": root.attribute("name")?.shown(limit: textLimit),
      "label": root.labels(limit: textLimit).first,
      "meta": [
        "description": root.meta("description", limit: textLimit), "aboutUrl": url("aboutUrl"),
        "iconUrl": url("iconUrl"), "imageUrl": url("imageUrl"),
        "backgroundImageUrl": url("backgroundImageUrl"),
      ] as JSONObject,
      "signed": isSigned, "actions": cards.prefix(actionLimit).map(action), "cssStr": "",
    ]
    return [
      "tokenMetadata": nil, "tsMetadata": metadata, "signed": isSigned, "explorerUrl": explorer,
    ]
  }

  private static func action(_ card: XMLElement) -> JSONObject {
    func attribute(_ name: String) -> String? { card.attribute(name)?.shown(limit: textLimit) }
    return [
      "name": attribute("name"), "label": card.labels(limit: textLimit).first ?? "Unnamed Card",
      "type": attribute("type"), "fullScreen": attribute("fullScreen") == "true",
      "buttonClass": attribute("buttonClass"),
    ]
  }
}
