internal import Pages

extension PageStyle {
  /// The style of the status page.
  static let status = PageStyle(PackageResources.status_css)
}
