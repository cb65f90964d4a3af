/// The configuration's answer to who may publish over HTTP.
enum PublicationPolicy: String, Sendable, CaseIterable {
  /// Nobody.
  case off
  /// The keys that stand for the contract already: by a file that is served, or as its deployer.
  case known
  /// They, and for a contract without any file anybody.
  case open
}
