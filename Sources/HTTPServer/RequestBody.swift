internal import Platform

/// The body of a request that is handled while it comes: its handler takes piece by piece, and the client waits meanwhile.
package final class RequestBody: Sendable {
  /// The body was cut: the client has gone, or has sent what is no body.
  package struct Interrupted: Error {
    package init() {}
  }

  private struct State {
    var pieces: [[UInt8]] = []
    var count = 0
    var isWhole = false
    var isCut = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  /// The bytes that may wait for the handler.
  static let limit = 256 << 10

  private let state = Lock(State())
  /// Called when there is room again, from any thread.
  private let drained: @Sendable () -> Void

  init(drained: @escaping @Sendable () -> Void) { self.drained = drained }

  /// A body that is there whole.
  package convenience init(whole bytes: [UInt8]) {
    self.init(drained: {})
    if !bytes.isEmpty { append(bytes) }
    finish()
  }

  /// Returns the next piece, which it waits for; nil at the end. To be called by one task at a time.
  ///
  /// - Throws: ``Interrupted``.
  package func next() async throws -> [UInt8]? {
    while true {
      let (piece, isOver, hadNoRoom) = state.withLock { state -> ([UInt8]?, Bool, Bool) in
        guard !state.pieces.isEmpty else { return (nil, state.isWhole || state.isCut, false) }
        let piece = state.pieces.removeFirst()
        let hadNoRoom = state.count >= Self.limit
        state.count -= piece.count
        return (piece, false, hadNoRoom)
      }
      if let piece {
        if hadNoRoom { drained() }
        return piece
      }
      if isOver {
        if state.withLock({ $0.isCut }) { throw Interrupted() }
        return nil
      }
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          guard state.pieces.isEmpty, !state.isWhole, !state.isCut else { return true }
          state.waiter = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    }
  }

  /// The bytes that wait for the handler.
  var count: Int { state.withLock { $0.count } }

  /// True if no more is to be read for now.
  var isFull: Bool { count >= Self.limit }

  /// The size of a piece behind which a new one begins.
  private static let pieceSize = 16 << 10

  func append(_ bytes: [UInt8]) {
    change { state in
      // Short ones join the one before: each short chunk or frame would hold far more memory than it counts.
      if let last = state.pieces.indices.last,
        state.pieces[last].count + bytes.count <= Self.pieceSize
      {
        state.pieces[last] += bytes
      } else {
        state.pieces.append(bytes)
      }
      state.count += bytes.count
    }
  }

  func finish() { change { $0.isWhole = true } }

  func cut() { change { $0.isCut = !$0.isWhole } }

  private func change(_ body: (inout State) -> Void) {
    let waiter = state.withLock { state in
      body(&state)
      return state.waiter.take()
    }
    waiter?.resume()
  }
}
