internal import CommandsResources
internal import HTTPProtocol
internal import Platform
internal import ServiceKit
internal import WebApps

/// The page at `/` that a person sees in a browser: what runs here, with a card for each service.
struct FrontDoor {
  /// The operator's name for the server.
  let name: String
  let cards: [ServiceCard]
  /// The path of the status page, or nil if it answers elsewhere.
  let status: String?

  var response: Response {
    let html = Self.template.html([
      "name": name,
      "lead": cards.isEmpty
        ? "There is nothing to open in a browser here." : "What you can do here",
      "style": PageStyle.frontDoor.text, "status": status ?? "",
      "cards": cards.map { card -> PageTemplate.Values in
        ["title": card.title, "sentence": card.sentence, "path": card.path]
      },
    ])
    var response = Response(page: html, .frontDoor)
    response.fields.append(.cacheControl, "no-cache")
    response.fields.append(.vary, "Accept")
    return response
  }

  private static let template = PageTemplate(Resource(commands_frontdoor_html()).bytes)
}

extension PageStyle {
  static let frontDoor = PageStyle(Resource(commands_frontdoor_css()).bytes)
}
