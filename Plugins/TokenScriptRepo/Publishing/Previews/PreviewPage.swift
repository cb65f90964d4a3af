internal import TokenScriptRepoResources
internal import Platform
internal import WebApps
internal import Formats

/// The page about a preview: what the checks say, the URL to open on a phone, and the source.
struct PreviewPage {
  /// The facts about the file.
  let preview: Preview
  /// The file.
  let bytes: Bytes
  /// The preview's URL, or nil if it is not known.
  let url: String?

  private static let template = PageTemplate(Resource(tokenscript_preview_html()).bytes)

  /// The page as an HTML document, which needs no script.
  var html: String {
    let facts =
      preview.contracts.map { ("Chain \($0.chain)", $0.address) }
      + [("Version", preview.schema), ("Signer", preview.signer ?? "none")]
      + preview.verdicts.map { ($0.check, $0.words) } + [("SHA-256", preview.sha256)]
    let isLong = bytes.count > ContractPage.sourceLimit
    return PageStyle.contract.document(
      title: "Preview",
      Self.template.html([
        "url": url, "viewer": url.map(ContractPage.viewer),
        "code": url.flatMap { QRCode($0)?.svg(label: "QR code of the URL") },
        "facts": facts.map { ["name": $0, "value": $1] },
        "warnings": Markup.warnings(preview.warnings), "isLong": isLong,
        "source": isLong ? nil : String(decoding: bytes.array, as: UTF8.self),
      ]))
  }
}
