internal import Time
internal import WebApps

/// The page at which people use the service.
enum ApptimistWebApp {
  /// Prepares its files.
  static func files(at path: String, clock: @escaping @Sendable () -> Timestamp) -> WebApp {
    // Nothing from elsewhere, nothing within the page, and no script but by the one policy for the worker.
    let policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
      + "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
      + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
      + "trusted-types worker"
    return WebApp(
      at: path,
      fields: [
        ("Content-Security-Policy", policy), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
      ],
      parts: [
        ("icon.svg", PackageResources.icon_svg), WebApp.style, WebApp.view,
        ("app.css", PackageResources.app_css), ("nacl-fast.js", PackageResources.nacl_fast_js),
        ("apptimist.js", PackageResources.apptimist_js), ("page.js", PackageResources.page_js),
        ("passphrase.js", PackageResources.passphrase_js), ("store.js", PackageResources.store_js),
        ("contents.js", PackageResources.contents_js), ("people.js", PackageResources.people_js),
        ("export.js", PackageResources.export_js), ("files.js", PackageResources.files_js),
        // As a module, which the policy takes.
        ("qrcode.js", PackageResources.qrcode_js + Array("export { qrcode };\n".utf8)),
        ("qr.js", PackageResources.qr_js), ("link.js", PackageResources.link_js),
        ("linking.js", PackageResources.linking_js), ("wakes.js", PackageResources.wakes_js),
        ("settings.js", PackageResources.settings_js), ("oidc.js", PackageResources.oidc_js),
        ("siwe.js", PackageResources.siwe_js), ("forum.js", PackageResources.forum_js),
        ("forums.js", PackageResources.forums_js), ("account.js", PackageResources.account_js),
        ("details.js", PackageResources.details_js), ("chat.js", PackageResources.chat_js),
        ("app.js", PackageResources.app_js),
      ],
      pages: [
        ("", PackageResources.index_html),
        ("manifest.webmanifest", PackageResources.manifest_webmanifest),
      ],
      worker: PackageResources.worker_js, clock: clock)
  }
}
