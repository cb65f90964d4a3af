internal import TokenScriptReading
internal import XMLSecurity

/// The facts about a file that pages and frames show beside a token; there are no facts about the token itself.
struct TokenView: Encodable, Sendable {
  /// The largest number of bytes of a text.
  private static let textLimit = 4096
  private static let actionLimit = 64

  struct Metadata: Encodable, Sendable {
    @Nullable var name: String?
    @Nullable var label: String?
    let meta: Meta
    let signed: Bool
    let actions: [Action]
    let cssStr = ""

    fileprivate init(_ root: XMLElement, isSigned: Bool) {
      name = root.attribute("name")?.shown(limit: textLimit)
      label = root.labels(limit: textLimit).first
      meta = Meta(root)
      signed = isSigned
      let cards = root.children(named: "cards", in: root.namespace).flatMap { list in
        list.children(named: "card", in: root.namespace)
      }
      actions = cards.prefix(actionLimit).map(Action.init)
    }
  }

  struct Meta: Encodable, Sendable {
    @Nullable var description: String?
    @Nullable var aboutUrl: String?
    @Nullable var iconUrl: String?
    @Nullable var imageUrl: String?
    @Nullable var backgroundImageUrl: String?

    fileprivate init(_ root: XMLElement) {
      func url(_ name: String) -> String? { root.meta(name, limit: textLimit)?.openable }
      description = root.meta("description", limit: textLimit)
      aboutUrl = url("aboutUrl")
      iconUrl = url("iconUrl")
      imageUrl = url("imageUrl")
      backgroundImageUrl = url("backgroundImageUrl")
    }
  }

  struct Action: Encodable, Sendable {
    @Nullable var name: String?
    let label: String
    @Nullable var type: String?
    let fullScreen: Bool
    @Nullable var buttonClass: String?

    fileprivate init(_ card: XMLElement) {
      func attribute(_ name: String) -> String? { card.attribute(name)?.shown(limit: textLimit) }
      name = attribute("name")
      label = card.labels(limit: textLimit).first ?? "Unnamed Card"
      type = attribute("type")
      fullScreen = attribute("fullScreen") == "true"
      buttonClass = attribute("buttonClass")
    }
  }

  @Nullable var tokenMetadata: String?
  let tsMetadata: Metadata
  let signed: Bool
  @Nullable var explorerUrl: String?

  /// Reads the facts.
  ///
  /// - Parameters:
  ///   - root: the root of the file.
  ///   - isSigned: whether its signature holds.
  ///   - explorer: the URL of a page about the contract elsewhere, or nil.
  init(_ root: XMLElement, isSigned: Bool, explorer: String?) {
    tokenMetadata = nil
    signed = isSigned
    explorerUrl = explorer
    tsMetadata = Metadata(root, isSigned: isSigned)
  }
}
