/// What a connection's bytes mean: HTTP/1.1 at first, a WebSocket after an upgrade.
protocol ConnectionProtocol: AnyObject {
  /// Bytes came.
  func received(_ input: RawSpan)
  /// The peer sends nothing more.
  func peerEnded()
  /// All that waited to be sent is sent.
  func drained()
  /// A tick of the loop's clock, for deadlines.
  func tick()
  /// The server is about to stop.
  func drain()
  /// The connection is over.
  func ended()
}
