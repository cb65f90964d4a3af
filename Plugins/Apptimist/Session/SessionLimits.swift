internal import ApptimistProtocol

/// The limits of what a session takes, and of the time that it waits.
struct SessionLimits: Sendable {
  /// The limits of what a device sends at once.
  var frame = Frame.Limits()
  /// The time in which a device has to log in after the upgrade.
  var loginTime = Duration.seconds(30)
  /// The most entries that a mailbox has, and so the most of its own that a session leaves out.
  var ownEntries = 10_000
  /// The most posts that are gathered while others are being queued.
  var batchPosts = 128
  /// The most bytes that they have.
  var batchBytes = 256 << 10
}
