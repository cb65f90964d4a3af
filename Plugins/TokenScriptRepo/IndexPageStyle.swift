internal import Cryptography
internal import FoundationEssentials

/// How the page for people looks, and the policy that allows this style and nothing else.
enum IndexPageStyle {
  /// The value of `Content-Security-Policy` (CSP level 3): the style by its hash, the search form,
  /// and nothing else.
  static let contentSecurityPolicy = {
    let digest = Data(SHA256.hash(Array(text.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(digest)'; form-action 'self'; "
      + "base-uri 'none'; frame-ancestors 'none'"
  }()

  /// The content of the page's `style` element.
  ///
  /// A table on wide screens; on narrow ones each row group is a card, whose cells are labelled from
  /// their `data-label`.
  static let text = """
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
    form { display: flex; flex: 0 1 26rem; min-width: 0; gap: .5rem; }
    input, button {
      font: inherit; border: 1px solid var(--line); border-radius: 8px; padding: .45rem .8rem;
    }
    input { flex: 1; min-width: 0; background: var(--surface); color: var(--text); }
    button { background: var(--link); border-color: var(--link); color: var(--surface);
      font-weight: 600; cursor: pointer; }
    .counts { display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; list-style: none;
      margin: .5rem 0 0; padding: 0; color: var(--quiet); }
    .counts strong { color: var(--text); font-variant-numeric: tabular-nums; }
    .panel { background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
      overflow: hidden; }
    .mono { font-family: var(--mono); font-size: .8rem; overflow-wrap: anywhere; }
    .cut { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .line { display: block; }
    .state { display: inline-block; border-radius: 99px; padding: .05rem .6rem;
      font-size: .8rem; font-weight: 600; white-space: nowrap;
      color: var(--quiet); background: var(--idle-ground); }
    .state.served { color: var(--served); background: var(--served-ground); }
    .state.shadowed { color: var(--caution); background: var(--caution-ground); }
    .state.refused { color: var(--refused); background: var(--refused-ground); }
    .refusals { list-style: none; margin: 0; padding: 0; border-left: 4px solid var(--refused);
      overflow-wrap: anywhere; }
    .refusals > li { padding: .8rem 1rem; }
    .refusals > li + li, tbody + tbody { border-top: 1px solid var(--line); }
    .found { margin: 1.5rem 0 -.75rem; overflow-wrap: anywhere; }
    .refusals p { margin: .3rem 0 .15rem; }
    .warnings { list-style: none; margin: 0; padding: 0; color: var(--caution);
      font-size: .85rem; overflow-wrap: anywhere; }
    .warnings li { padding-left: 1.4em; text-indent: -1.4em; }
    .warnings li::before { content: "\\26A0\\FE0E"; display: inline-block; width: 1.4em;
      text-indent: 0; }
    table { width: 100%; border-collapse: collapse; table-layout: fixed; }
    th { text-align: left; font-size: .8rem; font-weight: 600; color: var(--quiet);
      background: var(--idle-ground); }
    th, td { padding: .65rem .75rem; vertical-align: top; }
    th:first-child, td:first-child { padding-left: 1rem; }
    td { overflow-wrap: anywhere; }
    tbody tr + tr td:first-child { padding-top: 0; }
    tbody:hover { background: color-mix(in srgb, var(--idle-ground) 40%, transparent); }
    time { white-space: nowrap; font-variant-numeric: tabular-nums; }
    .token { width: 22.5rem; } .what { width: 8.5rem; } .version { width: 5.75rem; }
    .whose { width: 10.75rem; } .when { width: 11.75rem; }
    nav { display: flex; gap: 1.25rem; justify-content: center; margin-top: 1.25rem; }
    footer { margin-top: 2rem; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; }
    @media (max-width: 68rem) {
      .page { padding: 1.5rem 1rem 2rem; }
      header > div { flex: 1 1 100%; }
      form { flex: 0 1 32rem; }
      thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
        clip-path: inset(50%); }
      .panel:has(table) { background: none; border: 0; border-radius: 0; }
      tbody, tr, td { display: block; }
      table { display: grid; gap: .75rem;
        grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); }
      tbody, tbody + tbody { background: var(--surface); border: 1px solid var(--line);
        border-radius: 12px; padding: .8rem 1rem; min-width: 0; }
      td { padding: .3rem 0 0; }
      time { white-space: normal; }
      td:first-child { padding: 0 0 .3rem; }
      tbody tr + tr td:first-child { margin-top: .7rem; border-top: 1px solid var(--line);
        padding: .6rem 0 0; }
      td[data-label] { display: grid; grid-template-columns: 4.75rem minmax(0, 1fr);
        gap: .75rem; }
      td[data-label]::before { content: attr(data-label); color: var(--quiet);
        font-size: .85rem; }
    }

    """
}
