internal import ApptimistResources
internal import Platform
internal import WebApps

/// The page at which people use the service.
enum ApptimistWebApp {
  /// Prepares its files.
  static func files(
    at path: String, serverName: String, clock: @escaping @Sendable () -> Timestamp
  ) -> WebApp {
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
      parts: WebApp.views + [
        ("icon.svg", Resource(apptimist_icon_svg()).bytes), WebApp.style,
        ("icon-180.png", Resource(apptimist_icon_180_png()).bytes),
        ("icon-192.png", Resource(apptimist_icon_192_png()).bytes),
        ("icon-512.png", Resource(apptimist_icon_512_png()).bytes),
        ("icon-maskable.png", Resource(apptimist_icon_maskable_png()).bytes),
        ("app.css", Resource(apptimist_app_css()).bytes),
        ("nacl-fast.js", Resource(apptimist_nacl_fast_js()).bytes),
        ("apptimist.js", Resource(apptimist_apptimist_js()).bytes),
        ("terms.js", Resource(apptimist_terms_js()).bytes),
        ("names.js", Resource(apptimist_names_js()).bytes),
        ("page.js", Resource(apptimist_page_js()).bytes),
        ("passphrase.js", Resource(apptimist_passphrase_js()).bytes),
        ("store.js", Resource(apptimist_store_js()).bytes),
        ("contents.js", Resource(apptimist_contents_js()).bytes),
        ("people.js", Resource(apptimist_people_js()).bytes),
        ("export.js", Resource(apptimist_export_js()).bytes),
        ("files.js", Resource(apptimist_files_js()).bytes),
        // As a module, which the policy takes.
        ("qrcode.js", Resource(apptimist_qrcode_js()).bytes + Array("export { qrcode };\n".utf8)),
        ("qr.js", Resource(apptimist_qr_js()).bytes),
        ("link.js", Resource(apptimist_link_js()).bytes),
        ("linking.js", Resource(apptimist_linking_js()).bytes),
        ("wakes.js", Resource(apptimist_wakes_js()).bytes),
        ("settings.js", Resource(apptimist_settings_js()).bytes),
        ("oidc.js", Resource(apptimist_oidc_js()).bytes),
        ("siwe.js", Resource(apptimist_siwe_js()).bytes),
        ("forum.js", Resource(apptimist_forum_js()).bytes),
        ("forums.js", Resource(apptimist_forums_js()).bytes),
        ("account.js", Resource(apptimist_account_js()).bytes),
        ("details.js", Resource(apptimist_details_js()).bytes),
        ("chat.js", Resource(apptimist_chat_js()).bytes),
        ("app.js", Resource(apptimist_app_js()).bytes),
      ],
      pages: [
        ("", Resource(apptimist_index_html()).bytes),
        ("manifest.webmanifest", Resource(apptimist_manifest_webmanifest()).bytes),
      ],
      worker: Resource(apptimist_worker_js()).bytes, serverName: serverName, clock: clock)
  }
}
