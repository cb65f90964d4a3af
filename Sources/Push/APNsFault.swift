internal import Formats
package import Platform

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
    var (reason, timestamp): (String?, Timestamp?)
    for member in JSONObjectReader.members(of: body) ?? [] {
      switch (member.name, member.value) {
      case ("reason", .text(let word)): reason = word.asWord
      case ("timestamp", .integer(let time)): timestamp = Timestamp(milliseconds: time)
      default: break
      }
    }
    (self.reason, self.timestamp) = (reason, timestamp)
  }
}

extension String {
  /// The text if it is a push service's word for something, fit for a log: 1 to 64 letters, digits and underscores.
  var asWord: String? {
    (1...64).contains(utf8.count) && utf8.allSatisfy { $0.isLetterOrDigit || $0 == 0x5f }
      ? self : nil
  }
}
