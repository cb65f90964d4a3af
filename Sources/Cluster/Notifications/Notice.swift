package import Storage

/// The subject of a notice: a user or another thing of one service.
package struct Topic: Sendable, Hashable {
  /// The service's name.
  package let service: String
  /// The service's own name for the thing, such as a user's key; empty for all.
  package let key: [UInt8]

  /// Makes a topic of a service's.
  package init(_ service: String, _ key: [UInt8] = []) { (self.service, self.key) = (service, key) }
}

/// The news that something has changed in the store, for nodes that keep something of it in memory.
///
/// It is a hint to look again. It may come late, twice, or not at all, so nothing may depend on it but the time at which
/// something is seen.
package struct Notice: Sendable, Hashable {
  /// The most bytes of key and content together.
  package static let limit = 1024

  /// The subject of the notice.
  package let topic: Topic
  /// The service's own words on what has changed.
  package let content: [UInt8]

  /// Makes a notice.
  ///
  /// - Parameters:
  ///   - topic: the subject of the notice.
  ///   - content: what has changed; with the topic's key ``limit`` bytes at most.
  package init(_ topic: Topic, _ content: [UInt8] = []) {
    (self.topic, self.content) = (topic, content)
  }
}

/// The nodes that are told of something. The node that tells isn't one of them.
package enum Recipients: Sendable, Hashable {
  /// All that live.
  case all
  /// The nodes that hold the subject's streams, as the transaction that made the change found them.
  case nodes([NodeID])
}

/// Something that a bus tells a service.
package enum BusEvent: Sendable, Hashable {
  /// The notices of other nodes, each node's in their order.
  case notices([Notice])
  /// Notices may have been lost: what is kept in memory has to be compared with the store.
  case mayHaveMissed
}
