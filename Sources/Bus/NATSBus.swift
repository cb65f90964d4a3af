#if NATS
  internal import CNATS
  internal import Glibc
  public import Observability
  public import Storage
  internal import Threading

  /// Notices by a NATS server, or a cluster of them.
  ///
  /// libnats connects, and connects again, by itself, on threads of its own. What it can't tell then is dropped.
  @safe public final class NATSBus: Bus {
    /// The reason why there can be no bus.
    public struct Failure: Error, CustomStringConvertible {
      /// libnats's words.
      public let description: String
    }

    /// What libnats's threads use.
    private final class Ears: Sendable {
      let node: NodeID
      let subscribers = Subscribers()
      let outgoing = OutgoingNotices()
      let log: Log

      init(_ node: NodeID, _ log: Log) { (self.node, self.log) = (node, log) }

      /// Returns the object that a callback was given.
      static func of(_ closure: UnsafeMutableRawPointer?) -> Ears? {
        unsafe closure.map { unsafe Unmanaged<Ears>.fromOpaque($0).takeUnretainedValue() }
      }

      func hear(_ text: String) {
        guard let notices = NoticeText.notices(in: text, except: node) else {
          return subscribers.tellOfLoss()
        }
        outgoing.count { $0.heard += notices.count }
        subscribers.tell(notices)
      }
    }

    /// The pause between two messages, in which notices gather.
    private static let pause = Duration.milliseconds(2)

    private let ears: Ears
    private let polling: Task<Void, Never>
    private let notifier: WorkerThread
    // Safe to share: libnats locks its connections.
    private nonisolated(unsafe) let connection: OpaquePointer

    /// Makes a bus, which connects by itself, again and again if need be.
    ///
    /// - Parameters:
    ///   - url: one URL or several with commas between, `nats://user:password@host:4222`.
    ///   - database: the number of the database, as others may use the same server.
    ///   - node: this node.
    ///   - interval: the time after which services are told that they may have missed something.
    ///   - log: takes notes of lost connections.
    /// - Throws: ``Failure`` for a URL that is none, or `SystemError` if the system has no room for a thread.
    public init(
      _ url: String, database: Int64, node: NodeID, poll interval: Duration, log: Log
    ) throws {
      let ears = Ears(node, log)
      self.ears = ears
      let subject = "awd.\(String(database, radix: 16))"
      // For ever: nothing says when libnats's threads have made their last call.
      let closure = unsafe Unmanaged.passRetained(ears).toOpaque()
      var options: OpaquePointer?
      var connection: OpaquePointer?
      var subscription: OpaquePointer?
      defer { unsafe natsOptions_Destroy(options) }
      try Self.check(unsafe natsOptions_Create(&options))
      var servers = unsafe url.split(separator: ",").map {
        unsafe UnsafePointer(strdup(String($0)))
      }
      defer { unsafe servers.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
      try Self.check(unsafe natsOptions_SetServers(options, &servers, Int32(servers.count)))
      try Self.check(unsafe natsOptions_SetName(options, "awd \(node)"))
      try Self.check(unsafe natsOptions_SetMaxReconnect(options, -1))
      try Self.check(unsafe natsOptions_SetReconnectWait(options, 500))
      try Self.check(unsafe natsOptions_SetReconnectBufSize(options, 1 << 20))
      try Self.check(
        unsafe natsOptions_SetDisconnectedCB(
          options,
          { _, closure in
            guard let ears = unsafe Ears.of(closure) else { return }
            ears.outgoing.count { $0.interruptions += 1 }
            ears.log.warning("other nodes aren't heard; their changes are seen by polling")
          }, closure))
      try Self.check(
        unsafe natsOptions_SetReconnectedCB(
          options,
          { _, closure in
            guard let ears = unsafe Ears.of(closure) else { return }
            ears.log.info("other nodes are heard again")
            ears.subscribers.tellOfLoss()
          }, closure))
      try Self.check(
        unsafe natsOptions_SetRetryOnFailedConnect(
          options, true, { _, closure in unsafe Ears.of(closure)?.subscribers.tellOfLoss() },
          closure))
      let status = unsafe natsConnection_Connect(&connection, options)
      // Or it tries again by itself.
      if status != NATS_NOT_YET_CONNECTED { try Self.check(status) }
      guard let connection = unsafe connection else { throw Failure(description: "no connection") }
      unsafe self.connection = connection
      try Self.check(
        unsafe natsConnection_Subscribe(
          &subscription, connection, subject,
          { _, _, message, closure in
            defer { unsafe natsMsg_Destroy(message) }
            guard let data = unsafe natsMsg_GetData(message) else { return }
            let bytes = unsafe UnsafeRawBufferPointer(
              start: data, count: Int(natsMsg_GetDataLength(message)))
            unsafe Ears.of(closure)?.hear(String(decoding: bytes, as: UTF8.self))
          }, closure))
      // Safe to hand on: libnats locks its connections.
      nonisolated(unsafe) let handle = unsafe connection
      notifier = try WorkerThread(named: "awd-notifier") {
        unsafe Self.publish(ears, on: subject, handle)
      }
      polling = Task { [ears] in
        while (try? await Task.sleep(for: interval)) != nil { ears.subscribers.tellOfLoss() }
      }
    }

    /// Tells the other nodes, soon. See ``Bus``.
    public func publish(_ notices: [Notice]) { ears.outgoing.append(notices) }

    /// Returns what other nodes tell a service. See ``Bus``.
    public func events(of service: String) -> AsyncStream<BusEvent> {
      ears.subscribers.events(of: service)
    }

    /// What the bus has done so far.
    public var statistics: BusStatistics { ears.outgoing.statistics }

    /// Ends all events. See ``Bus``.
    public func close() async {
      polling.cancel()
      ears.subscribers.close()
      ears.outgoing.close()
      // In a task of its own: libnats may wait for the server.
      let notifier = notifier
      await Task.detached { notifier.join() }.value
    }

    deinit {
      ears.outgoing.close()
      notifier.join()
      unsafe natsConnection_Destroy(connection)
    }

    /// A thread's work: publishes until the bus is closed. libnats may wait, which no event loop may.
    private static func publish(_ ears: Ears, on subject: String, _ connection: OpaquePointer) {
      while let notices = ears.outgoing.take() {
        var isTold = true
        for text in NoticeText.texts(of: notices, from: ears.node) {
          isTold =
            unsafe natsConnection_PublishString(connection, subject, text) == NATS_OK && isTold
        }
        ears.outgoing.count { counts in
          if isTold { counts.told += notices.count } else { counts.dropped += notices.count }
        }
        _ = ears.outgoing.isClosed(within: pause)
      }
      unsafe natsConnection_FlushTimeout(connection, 500)
      unsafe natsConnection_Close(connection)
    }

    private static func check(_ status: natsStatus) throws(Failure) {
      guard status != NATS_OK else { return }
      throw Failure(description: unsafe String(cString: natsStatus_GetText(status)))
    }
  }
#endif
