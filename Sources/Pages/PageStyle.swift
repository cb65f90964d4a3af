internal import Cryptography
internal import FoundationEssentials

/// The style of a page for people, and the policy that allows this style and nothing else.
public struct PageStyle: Sendable {
  /// The content of the page's `style` element: the style that all pages share, and the page's own.
  public let text: String
  /// The value of `Content-Security-Policy` (CSP level 3), which allows the style by its hash.
  public let contentSecurityPolicy: String

  /// Makes the style of a page.
  ///
  /// - Parameters:
  ///   - own: the rules of this page alone.
  ///   - formAction: the source of the policy that forms may be sent to.
  public init(_ own: String, formAction: String = "'none'") {
    text = Self.base + own
    let digest = Data(SHA256.hash(Array(text.utf8)).bytes).base64EncodedString()
    contentSecurityPolicy =
      "default-src 'none'; style-src 'sha256-\(digest)'; img-src 'self'; base-uri 'none'; "
      + "form-action \(formAction); frame-ancestors 'none'"
  }

  /// Makes an HTML document with this style.
  ///
  /// - Parameters:
  ///   - title: the title, as text.
  ///   - content: the elements of the page, as HTML.
  public func document(title: String, _ content: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(title.htmlEscaped)</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml">
    <style>\(text)</style>
    </head>
    <body>
    <div class="page">
    \(content)
    </div>
    </body>
    </html>

    """
  }

  /// The style of a short message.
  public static let message = PageStyle(
    """
    .page { max-width: 40rem; }
    p { margin: .75rem 0 0; overflow-wrap: anywhere; }
    ul { padding-left: 1.25rem; }
    li { margin: .5rem 0; overflow-wrap: anywhere; }

    """)

  /// The colours of a light and of a dark page, and the plain elements.
  private static let base = """
    :root {
      color-scheme: light dark;
      --ground: #f5f6f8; --surface: #fff; --text: #1a1f26; --quiet: #586372; --line: #dde2e9;
      --link: #0a55c4; --served: #11692f; --served-ground: #dff6e5; --caution: #7a4b00;
      --caution-ground: #fdf1d3; --refused: #ab1428; --refused-ground: #fde8e8;
      --idle-ground: #e9edf2;
      --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ground: #0e1217; --surface: #161c24; --text: #e5eaf0; --quiet: #97a3b2; --line: #2b3440;
        --link: #7ab5ff; --served: #63d98a; --served-ground: #12301f; --caution: #efbf5a;
        --caution-ground: #33280f; --refused: #ff8f8f; --refused-ground: #3a191d;
        --idle-ground: #252e39;
      }
    }
    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--ground); color: var(--text);
      font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    }
    .page { max-width: 82rem; margin: 0 auto; padding: 2.5rem 1.5rem 3rem; }
    h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.015em; }
    h2 { margin: 2.25rem 0 .75rem; font-size: 1.1rem; }
    .quiet, footer { color: var(--quiet); font-size: .85rem; }
    a { color: var(--link); text-decoration: none; }
    a:hover { text-decoration: underline; }
    :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px; }
    header { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: end; }
    header > div { flex: 1 1 20rem; }
    .counts { display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; list-style: none;
      margin: .5rem 0 0; padding: 0; color: var(--quiet); }
    .counts strong { color: var(--text); font-variant-numeric: tabular-nums; }
    .state { display: inline-block; border-radius: 99px; padding: .05rem .6rem;
      font-size: .8rem; font-weight: 600; white-space: nowrap;
      color: var(--quiet); background: var(--idle-ground); }
    .state.served { color: var(--served); background: var(--served-ground); }
    .state.shadowed { color: var(--caution); background: var(--caution-ground); }
    .state.refused { color: var(--refused); background: var(--refused-ground); }
    footer { margin-top: 2rem; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; }
    .panel { background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
      overflow: hidden; }

    """
}
