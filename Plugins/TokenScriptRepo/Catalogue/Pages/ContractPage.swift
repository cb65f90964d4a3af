internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Platform
internal import TokenScriptRepoResources
internal import WebApps

/// The page about one contract: the served files, all files for it, and the data that its issuer needs.
struct ContractPage: Sendable {
  /// The largest number of bytes of source on a page; further sources are linked.
  static let sourceLimit = 1 << 20

  /// The contract on its chain.
  let origin: OriginContract
  /// The rows of the contract, the newest version first, and in it the served files first.
  let rows: [IndexRow]
  /// The URLs of the served files, the newest version first; none if the server's own URL is not known.
  let urls: [String]
  /// The chain's answer on the contract, or nil if it wasn't queried.
  let answer: ChainAnswer?
  /// The URL of a page about the contract elsewhere, or nil.
  let explorer: String?
  private let files: [RepositoryPath: RepositoryFile]

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - base: the server's URL without a slash at its end, or nil if it is not known.
  ///   - explorers: the pages about contracts elsewhere that the configuration names, with `{address}` in them.
  /// - Returns: nil if no file names the contract on the chain.
  init?(
    _ origin: OriginContract, in index: ContractIndex, base: String?, explorers: [ChainID: String]
  ) {
    let rows = index.rows.filter {
      $0.contract == origin.contract && $0.chains.contains(origin.chain)
    }
    guard !rows.isEmpty else { return nil }
    self.origin = origin
    func rank(_ row: IndexRow) -> (String, Int, Timestamp) {
      (row.schema?.path ?? "", row.state == .served ? 1 : 0, row.time ?? Timestamp(seconds: 0))
    }
    self.rows = rows.sorted { rank($0) > rank($1) }
    let editions = index.editions[ContractKey(origin.contract)] ?? []
    answer = index.rules.answers[origin]
    urls =
      base.map {
        ContractLocations(of: origin, in: editions, base: $0, by: index.rules).files.map(\.url)
      } ?? []
    explorer = origin.explorer(in: explorers)
    let paths = Set(rows.map(\.path))
    files = Dictionary(
      index.files.lazy.filter { paths.contains($0.path) }.map { ($0.path, $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// The name that the newest file gives the contract.
  var name: String? { rows.lazy.compactMap(\.name).first }

  /// True if nothing but withdrawn files is left.
  var isGone: Bool { rows.allSatisfy { $0.state == .gone } }

  /// Returns the meaning of a row's file, or nil if it has none.
  func meaning(of row: IndexRow) -> TokenScriptFile? {
    guard case .success(let meaning)? = files[row.path]?.reading else { return nil }
    return meaning
  }

  /// Returns the bytes of a row's file, or nil if they are not served.
  func content(of row: IndexRow) -> FileContent? { files[row.path]?.content }
}

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

  /// The values of a file, with the results of its checks and its source, of which a page has ``sourceLimit`` bytes at the most.
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
