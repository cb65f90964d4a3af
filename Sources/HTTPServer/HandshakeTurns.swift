internal import Formats
internal import Platform
internal import Transport

/// Lets TLS handshakes of one loop begin, for which clients' networks take turns.
///
/// A handshake costs its client a copy of an old greeting, and the server a signature. So a few begin in a turn of the loop,
/// and a newcomer waits for one of each network, however many connections another one opens.
final class HandshakeTurns {
  /// The number of handshakes that begin in one turn: some milliseconds of work.
  private static let limit = 8

  private let loop: EventLoop
  private var waiting = FairQueue<ClientNetwork?, ConnectionID>(limit: .max)
  private var timer: LoopTimer?
  /// The moment of the turn, and the number of handshakes that have begun in it.
  private var turn: (now: Int64, begun: Int) = (0, 0)

  init(on loop: EventLoop) {
    self.loop = loop
    timer = LoopTimer(on: loop) { [unowned self] in takeTurn() }
  }

  /// Takes a connection that has just begun to read, and lets it wait for its turn if too many have begun.
  ///
  /// - Parameters:
  ///   - connection: the connection, which hasn't been read yet.
  ///   - network: the network that the handshake counts for.
  func begin(_ connection: Connection, for network: ClientNetwork?) {
    if turn.now != loop.now { turn = (loop.now, 0) }
    guard turn.begun >= HandshakeTurns.limit || waiting.count > 0 else {
      turn.begun += 1
      return
    }
    connection.pauseReading()
    if waiting.count == 0 { timer?.start(after: .milliseconds(1)) }
    // Without a limit none is refused.
    _ = waiting.append(connection.id, for: network)
  }

  private func takeTurn() {
    turn = (loop.now, 0)
    while turn.begun < HandshakeTurns.limit, let id = waiting.popFirst() {
      guard let connection = loop.connection(id) else { continue }
      turn.begun += 1
      connection.resumeReading()
    }
    if waiting.count > 0 { timer?.start(after: .milliseconds(1)) }
  }

  /// Stops for good.
  func close() {
    timer?.close()
    timer = nil
  }
}
