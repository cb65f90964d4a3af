internal import HTTPProtocol
internal import MsgrProtocol
internal import Observability
internal import Threading
internal import Time

/// A push service for development, which notes each push in the log.
///
/// Only if the configuration asks for it, the payload stands in the log as well, and the last ones are kept to be shown.
/// Nothing else logs a message.
final class LogProvider: PushProvider {
  /// The number of payloads that are kept.
  private static let kept = 1000

  private let log: Log
  private let showsPayloads: Bool
  private let clock: @Sendable () -> Timestamp
  private let entries = Lock<[[UInt8]]>([])

  /// Makes a provider.
  ///
  /// - Parameters:
  ///   - log: receives the pushes.
  ///   - showsPayloads: whether payloads are logged and kept.
  ///   - clock: tells the time.
  init(log: Log, showsPayloads: Bool, clock: @escaping @Sendable () -> Timestamp) {
    self.log = log
    self.showsPayloads = showsPayloads
    self.clock = clock
  }

  let target = "log"

  func push(_ push: Push) async -> PushOutcome {
    if showsPayloads {
      show(push)
    } else {
      log.info("push", ["device": "\(push.device)", "message": push.message.text])
    }
    return .responded(PushResponse(status: 200))
  }

  private func show(_ push: Push) {
    let payload =
      push.device.pushKind == .fcm ? FCMMessage.data(of: push) : PushPayload.json(of: push)
    log.info("push", ["payload": String(decoding: payload, as: UTF8.self)])
    let entry =
      #"{"Id":"\#(push.message.text)","DeviceID":"\#(push.device.text)","#
      + #""Time":"\#(clock())","Payload":"#
    entries.withLock { entries in
      entries.append(Array(entry.utf8) + payload + [UInt8(ascii: "}")])
      if entries.count > Self.kept { entries.removeFirst() }
    }
  }

  /// The response to `GET /debug/pushes`: the last payloads, oldest first.
  var recentPushes: Response {
    let all = entries.withLock { $0 }
    var response = Response(
      .ok,
      body: .array(Array("[".utf8) + all.joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8)))
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, "no-store")
    return response
  }
}
