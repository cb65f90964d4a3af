internal import Formats

/// The reason of a refusal, as the body of a browser's push service has it: each has a form of its own.
struct WebPushFault: Sendable, Hashable {
  /// The most characters that are shown of a text.
  private static let longestText = 120
  /// The longest word of a text that is shown. A longer one may be a key or a device's address.
  private static let longestWord = 24

  /// The reason in one line, fit for a log; nil if the body has none.
  let reason: String?
  /// True if the subscription was made for another key than this server's, which it will never have again.
  let isOfOtherKey: Bool

  /// Reads a body.
  ///
  /// - Parameter body: any bytes: Apple's `{"reason"}`, Mozilla's `{"errno","message"}`, or a text, as Google's is.
  init(_ body: [UInt8]) {
    var reason: String?
    var text: String?
    if let members = JSONObjectReader.members(of: body) {
      for member in members {
        switch (member.name, member.value) {
        case ("reason", .text(let word)): reason = word
        case ("message", .text(let words)): text = words
        default: break
        }
      }
    } else {
      text = String(validating: body, as: UTF8.self)
    }
    let found = reason ?? text ?? ""
    let lower = found.lowercased()
    isOfOtherKey =
      lower.contains("vapid")
      && ["mismatch", "not correspond", "not match"].contains { lower.contains($0) }
    let shown = found.prefix(Self.longestText).split(whereSeparator: \.isWhitespace)
      .map { $0.count > Self.longestWord ? "…" : String($0) }
      .joined(separator: " ")
    self.reason = shown.isEmpty ? nil : shown
  }
}
