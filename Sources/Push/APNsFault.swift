internal import JSON
package import Time
internal import Wire

/// The reason of a refusal, as the body of an APNs response gives it.
package struct APNsFault: Sendable, Hashable {
  /// Apple's word for the reason: 1 to 64 letters and digits, fit for a log.
  package let reason: String?
  /// The moment since which the device is known to be gone.
  package let timestamp: Timestamp?

  /// Reads a body; members that are missing or not in Apple's form are nil.
  ///
  /// - Parameter body: any bytes.
  package init(json body: [UInt8]) {
    let members = JSONObjectReader.members(of: body) ?? []
    func value(_ name: String) -> JSONObjectReader.Value? {
      members.first { $0.name == name }?.value
    }
    if case .text(let word) = value("reason"), (1...64).contains(word.utf8.count),
      word.utf8.allSatisfy(\.isLetterOrDigit)
    {
      reason = word
    } else {
      reason = nil
    }
    if case .integer(let milliseconds) = value("timestamp") {
      timestamp = Timestamp(milliseconds: milliseconds)
    } else {
      timestamp = nil
    }
  }
}
