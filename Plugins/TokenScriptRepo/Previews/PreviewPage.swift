internal import HTTPProtocol
internal import Pages
internal import QRCode
internal import Wire

/// The page about a preview: what the checks say, the URL to open on a phone, and the source.
struct PreviewPage {
  private let preview: Preview
  private let bytes: Bytes
  private let url: String?

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - preview: the facts about the file.
  ///   - bytes: the file.
  ///   - url: the preview's URL, or nil if it is not known.
  init(_ preview: Preview, _ bytes: Bytes, url: String?) {
    self.preview = preview
    self.bytes = bytes
    self.url = url
  }

  /// The page as an HTML document, which needs no script.
  var html: String {
    let facts =
      preview.contracts.map { ("Chain \($0.chain)", $0.address) }
      + [("Version", preview.schema), ("Signer", preview.signer ?? "none")]
      + preview.verdicts.map { ($0.check, $0.words) }
      + [("SHA-256", preview.sha256)]
    let list = facts.map { "<dt>\($0.0.htmlEscaped)</dt><dd>\($0.1.htmlEscaped)</dd>" }
    return PageStyle.contract.document(
      title: "Preview",
      """
      <header>
      <div>
      <h1>Preview</h1>
      <p class="quiet">This file is not published. The page is gone a day after it was made.</p>
      </div>
      </header>
      <main>
      \(place)<section class="panel file">
      <dl>
      \(list.joined(separator: "\n"))
      </dl>
      \(IndexRowMarkup.warnings(preview.warnings))\(source)
      </section>
      </main>
      """)
  }

  private var place: String {
    guard let url else { return "" }
    let viewer = "https://viewer.tokenscript.org/?tokenscriptUrl=\(PercentEncoding.encode(url))"
    return """
      <section class="panel places">
      <div>
      <p class="field"><span class="quiet">URL for wallets</span>
      <code tabindex="0">\(url.htmlEscaped)</code></p>
      <p><a href="\(viewer.htmlEscaped)">Open in the TokenScript viewer</a></p>
      </div>
      \(QRCode(url)?.svg(label: "QR code of the URL") ?? "")
      </section>

      """
  }

  private var source: String {
    guard bytes.count <= ContractPage.sourceLimit else {
      return "<p class=\"quiet\">The source is too long to be shown here.</p>"
    }
    let text = String(decoding: bytes.array, as: UTF8.self)
    return
      "<details><summary>Source</summary><pre tabindex=\"0\">\(text.htmlEscaped)</pre></details>"
  }
}
