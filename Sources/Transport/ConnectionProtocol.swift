/// The protocol that is spoken on a connection; all calls come on the connection's loop.
package protocol ConnectionProtocol: AnyObject {
  /// Takes bytes of the peer.
  ///
  /// - Parameter input: the bytes, valid during the call.
  func received(_ input: RawSpan)
  /// Takes note that the peer sends nothing more.
  func peerEnded()
  /// Takes note that all that waited to be sent is sent.
  func drained()
  /// Notes that the socket did not take all. It may be called many times until ``drained()``.
  func outputWaits()
  /// Takes note that the turn has come which ``Connection/awaitTurn()`` asked for.
  func turnCame()
  /// Looks at the clock, several times a second.
  func tick()
  /// Takes note that the connection is over; nothing is called after this.
  func ended()
  /// Takes note that the TLS handshake is complete.
  func secured()
  /// Takes note that TLS has failed; the connection is finished afterwards.
  ///
  /// - Parameter failure: the reason.
  func tlsFailed(_ failure: TLSFailure)
}

extension ConnectionProtocol {
  /// Does nothing.
  package func outputWaits() {}
  /// Does nothing.
  package func turnCame() {}
  /// Does nothing.
  package func secured() {}
  /// Does nothing.
  package func tlsFailed(_ failure: TLSFailure) {}
}
