internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Transport

/// A device's open connection: what comes to its user goes out, and what it sends is sent.
///
/// Unchecked because all its state is touched on its session's event loop only: by the calls of
/// ``WebSocketHandler``, and by tasks and closures that are run there.
final class MessageStream: WebSocketHandler, @unchecked Sendable {
  /// How many sends may wait for those before them; a peer with more is closed with 1008.
  private static let longestQueue = 256

  private let session: WebSocketSession
  private let service: MessageService
  private let identity: Identity
  private let token: TokenHash
  private let lowWaterMark: Int
  private let log: Log
  private var listener: Hub.ListenerID?
  private var progress: StreamProgress
  /// What the peer wants sent, in order.
  private var sends: [[UInt8]] = []
  private var isSending = false
  private var isOver = false

  /// A stream that begins at once.
  ///
  /// - Parameters:
  ///   - session: the connection.
  ///   - service: what does the work.
  ///   - identity: whose stream it is.
  ///   - token: what it was opened with.
  ///   - position: the message behind which it begins.
  ///   - lowWaterMark: how many bytes may wait to be sent while more is read.
  init(
    _ session: WebSocketSession, _ service: MessageService, _ identity: Identity,
    token: TokenHash, behind position: MessageID, lowWaterMark: Int
  ) {
    self.session = session
    self.service = service
    self.identity = identity
    self.token = token
    self.lowWaterMark = lowWaterMark
    log = service.log
    progress = StreamProgress(behind: position)
    // The hub holds the stream until it is over.
    listener = service.hub.add(
      Hub.Listener(
        identity: identity, token: token, start: position,
        wake: { [self] in session.loop.execute { self.wake() } },
        end: { session.close(1008, reason: "the token has ended") }))
    readOn()
  }

  // MARK: - Out

  private func wake() {
    progress.noteNews()
    readOn()
  }

  func drained() { readOn() }

  private func readOn() {
    guard !isOver, let position = progress.nextRead(isBackedUp: session.backlog > lowWaterMark)
    else { return }
    Task(executorPreference: session.loop) { [self] in
      var messages: [Message] = []
      do {
        messages = try await service.store.messages(of: identity.name, since: position)
        guard !isOver else { return }
        for message in messages { session.send(.text(try JSONText.of(message))) }
      } catch {
        // The peer comes again, and asks for what it missed.
        log.error("stream ended: its inbox can't be read", ["cause": "\(error)"])
        session.close(1011)
      }
      progress.finishRead(
        last: messages.last?.id, mayBeMore: messages.count == MsgrStore.pageSize)
      readOn()
    }
  }

  func pinged() { progress.notePing() }

  func ponged() {
    if progress.notePong() { settle() }
  }

  // MARK: - In

  func received(_ message: WebSocketMessage) {
    switch message {
    case .binary: session.close(1003, reason: "text is expected")
    case .text(let text):
      guard sends.count < Self.longestQueue else {
        return session.close(1008, reason: "too many messages wait to be sent")
      }
      sends.append(text)
      sendOn()
    }
  }

  /// Sends what waits, one after the other, so that the answers are in order.
  private func sendOn() {
    guard !isSending, !isOver, !sends.isEmpty else { return }
    isSending = true
    let text = sends.removeFirst()
    Task(executorPreference: session.loop) { [self] in
      session.send(.text(await service.answer(toStreamed: text, of: identity, token: token)))
      isSending = false
      sendOn()
    }
  }

  // MARK: - End

  func closed(_ code: UInt16?) {
    isOver = true
    sends = []
    progress.finish(inOrder: code != nil)
    guard let listener else { return }
    service.hub.remove(listener)
    settle(isOver: true)
  }

  /// Tells the store which messages need no push any more, and at the end which do.
  private func settle(isOver: Bool = false) {
    Task { [service, identity, log, progress] in
      do {
        try await service.store.settle(
          progress, of: identity, isOver: isOver, streaming: service.hub.firstStart)
        if isOver { service.outbox.wake() }
      } catch {
        // The pushes are held for a while only: at worst one is sent for what the peer has.
        log.warning("what a stream has delivered can't be noted", ["cause": "\(error)"])
      }
    }
  }
}
