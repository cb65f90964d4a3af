internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Pages
internal import QRCode
internal import TokenScriptReading
internal import Wire

extension ContractPage {
  /// The page as an HTML document, which needs no script.
  var html: String {
    let title = name ?? contract.checksummed
    var sources = Self.sourceLimit
    return PageStyle.contract.document(
      title: "\(title) – \(chain.title)",
      """
      <header>
      <div>
      <h1>\(title.isolatedHTML)</h1>
      <p class="mono">\(contract.checksummed)</p>
      <p class="quiet">\(chain.title.htmlEscaped)</p>
      </div>
      </header>
      <main>
      \(places)\(proof)<h2>Files</h2>
      \(rows.map { file($0, &sources) }.joined(separator: "\n"))
      </main>
      <footer><a href="/">All contracts</a>\(links)</footer>
      """)
  }

  /// The URLs of the served files, with the call that writes the newest one into the contract.
  private var places: String {
    guard let url = urls.first else {
      let isServed = rows.contains { $0.state.summary == .served }
      let words =
        isServed
        ? "Wallets find the file by the contract’s address on this server."
        : "Nothing is served for this contract."
      return "<p class=\"quiet\">\(words)</p>\n"
    }
    let data = "0x" + Hex.encode(FunctionCall.setScriptURI([url]).data)
    let others = urls.dropFirst().map { Self.field("URL of another file", $0) }
    return """
      <section class="panel places">
      <div>
      \(Self.field("URL for wallets and for scriptURI", url))
      \(others.joined(separator: "\n"))
      \(Self.field("Call data that writes the URL into the contract, setScriptURI (ERC-5169)", data))
      </div>
      \(QRCode(url)?.svg(label: "QR code of the URL") ?? "")
      </section>

      """
  }

  /// The chain's word, with its age, or an empty string.
  private var proof: String {
    guard let word else { return "" }
    func list(_ texts: [String]) -> String {
      texts.isEmpty
        ? "none" : texts.map { "<code>\($0.htmlEscaped)</code>" }.joined(separator: "<br>")
    }
    let administrators = word.roles.filter(\.value).keys.map(\.checksummed).sorted()
    let entries = word.entries.map { entry in
      (word.isOwners(entry) ? "the owner’s: " : "") + "\(entry.name) \(entry.place)"
    }
    return """
      <section class="panel">
      <h3>The chain’s word</h3>
      <dl>
      <dt>Name</dt><dd>\(word.name?.isolatedHTML ?? "none")</dd>
      <dt>Owner</dt><dd class="mono">\(word.owner?.checksummed ?? "none")</dd>
      <dt>With a role</dt><dd>\(list(administrators))</dd>
      <dt>scriptURI</dt><dd>\(list(word.scripts))</dd>
      <dt>Registry</dt><dd>\(list(entries + word.registered))</dd>
      <dt>Asked</dt><dd>\(IndexRowMarkup.time(word.time))</dd>
      </dl>
      </section>

      """
  }

  private var links: String {
    var links: [PageLink] = []
    if let explorer { links.append(PageLink("Contract in an explorer", url: explorer)) }
    if let url = urls.first {
      links.append(
        PageLink(
          "Open in the TokenScript viewer",
          url: "https://viewer.tokenscript.org/?tokenscriptUrl=\(PercentEncoding.encode(url))"))
    }
    return links.map { "\n\($0.html)" }.joined()
  }

  /// A text to copy; a click selects all of it.
  private static func field(_ label: String, _ value: String) -> String {
    """
    <p class="field"><span class="quiet">\(label.htmlEscaped)</span>
    <code tabindex="0">\(value.htmlEscaped)</code></p>
    """
  }

  /// A file with its verdicts and its source.
  private func file(_ row: IndexRow, _ sources: inout Int) -> String {
    var facts: [(String, String)] = []
    if let schema = row.schema { facts.append(("Version", schema.path)) }
    if let signer = row.signer {
      let name = signer.commonName.map { "\($0.isolatedHTML)<br>" } ?? ""
      let authority =
        signer.authority.map { " for <span class=\"mono\">\($0.htmlEscaped)</span>" } ?? ""
      facts.append(
        (
          "Signer",
          "\(name)<span class=\"mono\">\(signer.key.htmlEscaped)</span>\(authority)<br>"
            + "<span class=\"quiet\">\(signer.kind.htmlEscaped), \(row.standing?.rawValue ?? "")</span>"
        ))
    }
    facts.append(("Signed", row.time.map(IndexRowMarkup.time) ?? "no time is signed"))
    if let meaning = meaning(of: row), row.state != .gone {
      facts.append(("Signature", Self.words(meaning.signature)))
      facts.append(("Schema", Self.words(meaning.validity)))
    }
    if let digest = row.digest {
      facts.append(("SHA-256", "<span class=\"mono\">\(digest.hex)</span>"))
    }
    let cids = row.cids.map { "<span class=\"mono\">\($0)</span>" }
    if !cids.isEmpty { facts.append(("IPFS CID", cids.joined(separator: "<br>"))) }
    facts.append(("Size", IndexRowMarkup.size(row.size)))
    let list = facts.map { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" }.joined(separator: "\n")
    return """
      <section class="panel file">
      <h3>\(IndexRowMarkup.badge(row.state)) \(IndexRowMarkup.path(row.path))</h3>
      \(reason(row))<dl>
      \(list)
      </dl>
      \(IndexRowMarkup.warnings(row.warnings))\(source(of: row, &sources))
      </section>
      """
  }

  private func reason(_ row: IndexRow) -> String {
    switch row.state {
    case .refused(let refusal): "<p>\(refusal.reason.htmlEscaped)</p>\n"
    case .shadowed(let path): "<p>by \(IndexRowMarkup.path(path))</p>\n"
    case .served, .servesNothing, .gone: ""
    }
  }

  private static func words(_ finding: TokenScriptFile.Finding) -> String {
    switch finding {
    case .passed: "holds"
    case .unchecked: "not checked"
    case .failed(let refusal): refusal.reason.htmlEscaped
    }
  }

  /// The source as text, cut after ``sourceLimit`` bytes of a page.
  private func source(of row: IndexRow, _ rest: inout Int) -> String {
    guard let content = content(of: row) else { return "" }
    guard content.size <= rest else {
      return "<p class=\"quiet\">The source is too long to be shown here.</p>"
    }
    guard let bytes = try? content.load() else { return "" }
    rest -= content.size
    let text = String(decoding: bytes.array, as: UTF8.self)
    return
      "<details><summary>Source</summary><pre tabindex=\"0\">\(text.htmlEscaped)</pre></details>"
  }
}

extension PageStyle {
  /// The style of the page about a contract.
  static let contract = PageStyle(PackageResources.contract_css)
}
