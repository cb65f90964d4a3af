internal import Formats
internal import Observability
internal import Platform

/// Records each push in the log, for development.
///
/// Only if the configuration says so, the payload stands in the log as well, and the last ones are kept to be shown.
/// Nothing else logs a message.
final class LogProvider: Sendable {
  /// The number of payloads that are kept.
  private static let kept = 1000

  private let log: Log
  private let showsPayloads: Bool
  private let clock: @Sendable () -> Timestamp
  private let entries = Lock<[[UInt8]]>([])

  /// Makes a provider.
  ///
  /// - Parameter showsPayloads: whether payloads are logged and kept.
  init(log: Log, showsPayloads: Bool, clock: @escaping @Sendable () -> Timestamp) {
    self.log = log
    self.showsPayloads = showsPayloads
    self.clock = clock
  }

  /// Records a push with the names that its service has for it.
  func record(_ push: LeasedPush, of source: any PushSource) -> PushOutcome {
    let labels = source.labels(of: push)
    guard showsPayloads else {
      log.info(
        "push", ["service": push.service, "device": "\(push.address)", "message": labels.id])
      return .logged
    }
    guard let payload = source.payload(of: push)?.text else { return .unreadable }
    log.info("push", ["payload": String(decoding: payload, as: UTF8.self)])
    let entry = JSONWriter.object { entry in
      entry["Service"] = push.service
      entry["Provider"] = push.address.kind.name
      entry["Id"] = labels.id
      entry["DeviceID"] = labels.device
      entry["Time"] = "\(clock())"
      entry.add("Payload", json: payload)
    }
    entries.withLock { entries in
      entries.append(entry)
      if entries.count > Self.kept { entries.removeFirst() }
    }
    return .logged
  }

  /// The last payloads in JSON, oldest first.
  var recent: [UInt8] {
    let entries = entries.withLock { $0 }
    return JSONWriter.list { list in
      for entry in entries { list.append(json: entry) }
    }
  }
}
