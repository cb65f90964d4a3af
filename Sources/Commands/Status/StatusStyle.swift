internal import Pages

extension PageStyle {
  /// The style of the status page.
  static let status = PageStyle(
    """
    .cards { display: grid; gap: .75rem; margin: 0; padding: 0; list-style: none;
      grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); }
    .cards > li { padding: .8rem 1rem 0; display: flex; flex-direction: column; min-width: 0; }
    .cards h3 { margin: 0; font-size: .85rem; font-weight: 500; color: var(--quiet);
      overflow-wrap: anywhere; }
    .value { margin: .1rem 0 0; font-size: 1.5rem; font-weight: 600; line-height: 1.3;
      font-variant-numeric: tabular-nums; }
    .value small { font-size: .85rem; font-weight: 400; color: var(--quiet); }
    .more { margin: 0; min-height: 1.3em; }
    svg { display: block; width: calc(100% + 2rem); height: 2.75rem; margin: auto -1rem 0; }
    polyline { fill: none; stroke: var(--link); stroke-width: 1.5;
      vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
    polygon { fill: var(--link); fill-opacity: .1; }
    .reasons { margin: 1rem 0 0; padding: .8rem 1rem .8rem 2rem;
      border-left: 4px solid var(--refused); overflow-wrap: anywhere; }
    @media (max-width: 40rem) { .page { padding: 1.5rem 1rem 2rem; } }

    """)
}
