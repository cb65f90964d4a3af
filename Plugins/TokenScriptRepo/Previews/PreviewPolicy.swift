/// The configuration's answer to who may put up a preview.
enum PreviewPolicy: String, Sendable, CaseIterable {
  /// Nobody.
  case off
  /// Anybody with a file whose signature holds.
  case signed
  /// Anybody.
  case open
}
