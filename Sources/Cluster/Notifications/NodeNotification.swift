package import Platform
package import Storage

internal import Cryptography
internal import Formats
internal import FoundationEssentials

/// The subject of a notification: a user or another thing of one service.
package struct NotificationTopic: Sendable, Hashable {
  /// The service's name.
  package let service: String
  /// The service's own name for the thing, such as a user's key; empty for all.
  package let key: [UInt8]

  package init(_ service: String, _ key: [UInt8] = []) {
    self.service = service
    self.key = key
  }
}

/// The notification that something has changed in the store, for nodes that keep something of it in memory.
///
/// It is only a reason to poll. It may come late, twice, or not at all, so nothing may depend on it but the time at which
/// something is seen.
package struct NodeNotification: Sendable, Hashable {
  /// The most bytes of key and content together.
  package static let limit = 1024

  /// The subject.
  package let topic: NotificationTopic
  /// The service's own words on what has changed.
  package let content: [UInt8]

  /// Makes a notification.
  ///
  /// - Parameter content: what has changed; with the topic's key ``limit`` bytes at most.
  package init(_ topic: NotificationTopic, _ content: [UInt8] = []) {
    self.topic = topic
    self.content = content
  }
}

/// The nodes that are notified. The node that sends isn't one of them.
package enum Recipients: Sendable, Hashable {
  /// All that live.
  case all
  /// The nodes that hold the subject's streams, as the transaction that made the change found them.
  case nodes([NodeID])
}

/// An event that a service receives from a bus.
package enum BusEvent: Sendable, Hashable {
  /// The notifications of other nodes, each node's in their order.
  case notifications([NodeNotification])
  /// Notifications may have been lost: what is kept in memory has to be compared with the store.
  case mayHaveMissed
}

/// The secret by which nodes know each other's messages, and one node's use of it.
///
/// A message is sealed with the secret (libsodium's secretbox, in base64). It says from which node to which node it is, the
/// sender's count of messages, and the time, so that a replayed one is ignored.
package struct NotificationSeal: Sendable {
  /// The time by which the moments of sending and of receiving may differ.
  static let patience = Duration.seconds(60)
  /// The most bytes of a message before it is sealed: PostgreSQL carries less than 8,000 bytes, which base64 makes of 5,920.
  private static let limit = 5_920 - SecretBox.overhead

  let node: NodeID
  private let box: SecretBox
  private let clock: @Sendable () -> Timestamp

  init(of node: NodeID, box: SecretBox, clock: @escaping @Sendable () -> Timestamp) {
    self.node = node
    self.box = box
    self.clock = clock
  }

  /// Seals notifications for a node, in as few messages as they fit in.
  ///
  /// - Parameters:
  ///   - notifications: in order; one that is longer than ``NodeNotification/limit`` is left out.
  ///   - count: the number of messages that this node has sealed.
  func seal(
    _ notifications: [NodeNotification], to recipient: NodeID, count: inout UInt64
  ) -> [String] {
    var messages: [String] = []
    var message: [UInt8] = []
    func end() {
      guard !message.isEmpty else { return }
      count += 1
      var writer = ByteWriter()
      writer.write(UInt64(bitPattern: node.rawValue))
      writer.write(UInt64(bitPattern: recipient.rawValue))
      writer.write(count)
      writer.write(UInt64(bitPattern: clock().milliseconds))
      messages.append(Data(box.seal(writer.bytes + message)).base64EncodedString())
      message = []
    }
    for notification in notifications
    where notification.topic.key.count + notification.content.count <= NodeNotification.limit {
      var writer = ByteWriter()
      for field in [
        Array(notification.topic.service.utf8), notification.topic.key, notification.content,
      ] {
        writer.write(UInt16(field.count))
        writer.write(field)
      }
      if 32 + message.count + writer.bytes.count > Self.limit { end() }
      message += writer.bytes
    }
    end()
    return messages
  }

  /// Opens a message that came to this node.
  ///
  /// - Parameter counts: the count of the last message of each node.
  /// - Returns: the notifications, or nil if no node has sent this to this node just now.
  func open(_ text: String, counts: inout [NodeID: UInt64]) -> [NodeNotification]? {
    guard let data = Data(base64Encoded: text), let message = box.open([UInt8](data)) else {
      return nil
    }
    var reader = ByteReader(message)
    do throws(WireError) {
      let sender = NodeID(rawValue: Int64(bitPattern: try reader.read(UInt64.self)))
      let recipient = NodeID(rawValue: Int64(bitPattern: try reader.read(UInt64.self)))
      let count = try reader.read(UInt64.self)
      let time = Timestamp(milliseconds: Int64(bitPattern: try reader.read(UInt64.self)))
      let now = clock()
      guard recipient == node, count > counts[sender, default: 0],
        time < now + Self.patience, now < time + Self.patience
      else { return nil }
      var notifications: [NodeNotification] = []
      while reader.remaining > 0 {
        let service = String(decoding: try Self.field(&reader), as: UTF8.self)
        let key = Array(try Self.field(&reader))
        notifications.append(
          NodeNotification(NotificationTopic(service, key), Array(try Self.field(&reader))))
      }
      counts[sender] = count
      return notifications
    } catch { return nil }
  }

  private static func field(_ reader: inout ByteReader) throws(WireError) -> ArraySlice<UInt8> {
    let count = try reader.read(UInt16.self)
    return try reader.read(count: Int(count))
  }
}

extension NodeRegistry {
  /// Makes the seal of this node with the secret that all nodes find in the store.
  ///
  /// - Throws: ``StoreError`` if the secret can't be read.
  package nonisolated(nonsending) func seal(
    clock: @escaping @Sendable () -> Timestamp
  ) async throws -> NotificationSeal {
    NotificationSeal(of: node, box: try await secret, clock: clock)
  }
}
