internal import TokenScriptRepoResources
internal import Platform
internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import WebApps
internal import Formats

extension ContractPage {
  private static let template = PageTemplate(Resource(tokenscript_contract_html()).bytes)

  /// The page as an HTML document, which needs no script.
  var html: String {
    let title = name ?? origin.contract.checksummed
    let isServed = rows.contains { $0.state.summary == .served }
    var values: PageTemplate.Values = [
      "title": title, "address": origin.contract.checksummed, "chain": origin.chain.title,
      "places": isServed
        ? "Wallets find the file by the contract’s address on this server."
        : "Nothing is served for this contract.",
      "explorer": explorer,
    ]
    if let url = urls.first {
      values["url"] = url
      values["others"] = urls.dropFirst().map { ["url": $0] }
      values["data"] = "0x" + Hex.encode(FunctionCall.setScriptURI([url]).data)
      values["code"] = QRCode(url)?.svg(label: "QR code of the URL")
      values["viewer"] = Self.viewer(url)
    }
    if let answer {
      // The chain's answer, with its age.
      let entries = answer.entries.map { entry in
        (answer.isOwners(entry) ? "the owner’s: " : "") + "\(entry.name) \(entry.place)"
      }
      values["name"] = answer.name
      values["owner"] = answer.owner?.checksummed ?? "none"
      values["administrators"] = Self.list(
        answer.roles.filter(\.value).keys.map(\.checksummed).sorted())
      values["scripts"] = Self.list(answer.scripts)
      values["registry"] = Self.list(entries + answer.registered)
      values["asked"] = Markup.time(answer.time)
    }
    var sources = Self.sourceLimit
    values["files"] = rows.map { file($0, &sources) }
    return PageStyle.contract.document(
      title: "\(title) – \(origin.chain.title)", Self.template.html(values))
  }

  /// Returns the URL of the viewer that shows the file at a URL.
  static func viewer(_ url: String) -> String {
    "https://viewer.tokenscript.org/?tokenscriptUrl=\(PercentEncoding.encode(url))"
  }

  private static func list(_ texts: [String]) -> String {
    texts.isEmpty
      ? "none" : texts.map { "<code>\($0.htmlEscaped)</code>" }.joined(separator: "<br>")
  }

  /// The values of a file, with its verdicts and its source, of which a page has ``sourceLimit`` bytes at the most.
  private func file(_ row: IndexRow, _ sources: inout Int) -> PageTemplate.Values {
    var values = row.values
    if case .shadowed = row.state { values["reason"] = values["note"] }
    values["schema"] = row.schema?.path
    values["authority"] = row.signer?.authority
    values["kind"] = row.signer?.kind
    values["proof"] = row.standing?.rawValue
    values["signed"] = row.time.map(Markup.time)
    values["digest"] = row.digest?.hex
    values["cids"] = row.cids.map { "<span class=\"mono\">\($0)</span>" }.joined(separator: "<br>")
    if let meaning = meaning(of: row), row.state != .gone {
      values["signature"] = meaning.signature.summary(\.reason)
      values["validity"] = meaning.validity.summary(\.reason)
    }
    if let content = content(of: row) {
      values["isLong"] = content.size > sources
      if content.size <= sources, let bytes = try? content.load() {
        sources -= content.size
        values["source"] = String(decoding: bytes.array, as: UTF8.self)
      }
    }
    return values
  }
}

extension PageStyle {
  /// The style of the page about a contract.
  static let contract = PageStyle(Resource(tokenscript_contract_css()).bytes)
  /// The style of the index page, which has a form for the search.
  ///
  /// On wide screens the rows are a table. On narrow ones each row group is a card, with the cells labelled by their
  /// `data-label`.
  static let index = PageStyle(Resource(tokenscript_index_css()).bytes, formAction: "'self'")
}
