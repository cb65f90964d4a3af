internal import ApptimistProtocol

/// What a session takes, and how long it waits.
struct SessionLimits: Sendable {
  /// The longest data of a PDU, in bytes, without the box around it.
  var data = 1 << 20
  /// The longest header, in bytes, without the box around it.
  var header = 4 << 10
  /// How long a device has to log in after the upgrade.
  var loginTime = Duration.seconds(30)
  /// How long the silence lasts before a refused session is closed: a random time of these.
  var refusal = Duration.seconds(1)...(.seconds(5))
  /// The most entries that a queue has, and so the most of its own that a session must leave out.
  var ownEntries = 10_000
  /// How many posts that come while others are being queued are queued together next.
  var batchPosts = 128
  /// How many bytes they have.
  var batchBytes = 256 << 10
  /// How many bytes of the stream are read at once; one longer entry is read nevertheless.
  var pageBytes = 64 << 10
  /// How many entries of the stream are read at once.
  var pageEntries = 256

  /// What a frame may have.
  var frame: Frame.Limits { Frame.Limits(header: header, data: data) }
}
