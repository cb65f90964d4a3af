internal import Pages

extension PageStyle {
  /// The style of the index page, which has a form for the search.
  ///
  /// On wide screens the rows are a table. On narrow ones each row group is a card, with the cells labelled by their
  /// `data-label`.
  static let index = PageStyle(PackageResources.index_css, formAction: "'self'")
}
