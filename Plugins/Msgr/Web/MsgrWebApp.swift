internal import Time
internal import WebApps

/// The page at which people use the service.
enum MsgrWebApp {
  /// Prepares its files.
  static func files(clock: @escaping @Sendable () -> Timestamp) -> WebApp {
    // Nothing from elsewhere, nothing within the page.
    let policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
      + "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
      + "frame-ancestors 'none'; require-trusted-types-for 'script'"
    return WebApp(
      at: MsgrRoutes.prefix, fields: [("Content-Security-Policy", policy)],
      parts: [
        ("icon.svg", PackageResources.icon_svg), WebApp.style, WebApp.view,
        ("msgr.js", PackageResources.msgr_js), ("archive.js", PackageResources.archive_js),
        ("page.js", PackageResources.page_js), ("settings.js", PackageResources.settings_js),
        ("app.js", PackageResources.app_js), ("api.js", PackageResources.api_js),
      ],
      pages: [
        ("", PackageResources.index_html), ("api", PackageResources.api_html),
        ("manifest.webmanifest", PackageResources.manifest_webmanifest),
      ],
      worker: PackageResources.worker_js, apart: ["api.js"], clock: clock)
  }
}
