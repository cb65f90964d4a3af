internal import HTTPProtocol

/// The icon of the pages: a token with a script on it.
enum Favicon {
  /// The response with the icon.
  static let response = Response(
    .ok, type: "image/svg+xml",
    text: """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" \
      fill="#0a55c4"/><path d="M12 10l-6 6 6 6m8-12l6 6-6 6" fill="none" stroke="#fff" \
      stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>
      """
  ).with(ResponseHeaders.fields([.cacheControl: "max-age=86400"]), ResponseHeaders.foreignContent)
}
