internal import MsgrResources
internal import Platform
internal import WebApps

/// The page at which people use the service.
enum MsgrWebApp {
  /// Prepares its files.
  ///
  /// - Parameters:
  ///   - signup: who may sign up, for whom the page has what is needed.
  ///   - minimumPassword: the fewest bytes of a new password, which the page tells beforehand.
  static func files(
    serverName: String, signup: Signup, minimumPassword: Int,
    clock: @escaping @Sendable () -> Timestamp
  ) -> WebApp {
    let page = String(decoding: Resource(msgr_index_html()).bytes, as: UTF8.self)
      .replacing("{{signup}}", with: signup.rawValue)
      .replacing("{{minimumPassword}}", with: "\(minimumPassword)")
    // Nothing from elsewhere, nothing within the page.
    let policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
      + "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
      + "frame-ancestors 'none'; require-trusted-types-for 'script'"
    return WebApp(
      at: MsgrRoutes.prefix, fields: [("Content-Security-Policy", policy)],
      parts: WebApp.views + [
        ("icon.svg", Resource(msgr_icon_svg()).bytes), WebApp.style,
        ("icon-180.png", Resource(msgr_icon_180_png()).bytes),
        ("icon-192.png", Resource(msgr_icon_192_png()).bytes),
        ("icon-512.png", Resource(msgr_icon_512_png()).bytes),
        ("icon-maskable.png", Resource(msgr_icon_maskable_png()).bytes),
        ("msgr.js", Resource(msgr_msgr_js()).bytes),
        ("archive.js", Resource(msgr_archive_js()).bytes),
        ("page.js", Resource(msgr_page_js()).bytes),
        ("settings.js", Resource(msgr_settings_js()).bytes),
        ("short-codes.txt", Resource(msgr_emoji_short_codes_txt()).bytes),
        ("rich.js", Resource(msgr_rich_js()).bytes),
        ("topics.js", Resource(msgr_topics_js()).bytes),
        ("app.js", Resource(msgr_app_js()).bytes), ("api.js", Resource(msgr_api_js()).bytes),
      ],
      pages: [
        ("", Array(page.utf8)), ("api", Resource(msgr_api_html()).bytes),
        ("manifest.webmanifest", Resource(msgr_manifest_webmanifest()).bytes),
      ],
      worker: Resource(msgr_worker_js()).bytes, apart: ["api.js", "short-codes.txt"],
      serverName: serverName, clock: clock)
  }
}
