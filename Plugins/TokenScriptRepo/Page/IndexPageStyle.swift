internal import Pages

extension PageStyle {
  /// The style of the index page, which has a form for the search.
  ///
  /// On wide screens the rows are a table. On narrow ones each row group is a card, with the cells labelled by their
  /// `data-label`.
  static let index = PageStyle(
    """
    form { display: flex; flex: 0 1 26rem; min-width: 0; gap: .5rem; }
    input, button {
      font: inherit; border: 1px solid var(--line); border-radius: 8px; padding: .45rem .8rem;
    }
    input { flex: 1; min-width: 0; background: var(--surface); color: var(--text); }
    button { background: var(--link); border-color: var(--link); color: var(--surface);
      font-weight: 600; cursor: pointer; }
    .mono { font-family: var(--mono); font-size: .8rem; overflow-wrap: anywhere; }
    .cut { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .line { display: block; }
    .refusals { list-style: none; margin: 0; padding: 0; border-left: 4px solid var(--refused);
      overflow-wrap: anywhere; }
    .refusals > li { padding: .8rem 1rem; }
    .refusals > li + li, tbody + tbody { border-top: 1px solid var(--line); }
    .found { margin: 1.5rem 0 -.75rem; overflow-wrap: anywhere; }
    .found a { text-decoration: underline; }
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

    """, formAction: "'self'")
}
