internal import CPostgreSQL
internal import Glibc
internal import Platform

/// A connection to PostgreSQL for notifications (LISTEN and NOTIFY), for one thread at a time.
package struct NotificationConnection {
  private let connection: PostgreSQLConnection

  /// Connects.
  ///
  /// - Parameter address: the database, reached without a pooler that lends a connection for a transaction only.
  package init(_ address: PostgreSQLAddress) throws(StoreError) {
    let connection = try PostgreSQLConnection(address, lockTimeout: .zero)
    // What a notification says is on the disk already, and one that is lost is made up for.
    try connection.run("SET synchronous_commit = off")
    self.connection = connection
  }

  /// Listens to a node's channel from now on.
  package func listen(as node: NodeID) throws(StoreError) {
    try connection.run("LISTEN \(Self.channel(of: node))")
  }

  /// Notifies nodes.
  ///
  /// - Parameter messages: the nodes and the texts, each of less than 8,000 bytes, in order.
  package func notify(_ messages: [(node: NodeID, text: String)]) throws(StoreError) {
    guard !messages.isEmpty else { return }
    var arrays = PostgreSQLParameters()
    try arrays.append(texts: messages.map { Self.channel(of: $0.node) })
    try arrays.append(texts: messages.map(\.text))
    try connection.execute(text: "SELECT pg_notify(c, m) FROM unnest($1, $2) AS n (c, m)", arrays)
  }

  private static func channel(of node: NodeID) -> String { "awd_\(node)" }

  /// Looks up the nodes that aren't dead.
  package func livingNodes() throws -> [NodeID] {
    try connection.livingNodes().map(\.id)
  }

  /// Waits for notifications.
  ///
  /// - Returns: the payloads in order; none when the time is over.
  /// - Throws: ``StoreError`` if the connection is lost.
  package func notifications(within limit: Duration) throws(StoreError) -> [String] {
    let waiting = connection.receivedNotifications()
    guard waiting.isEmpty else { return waiting }
    var descriptor = pollfd(fd: connection.socket, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&descriptor, 1, Int32(clamping: limit.milliseconds))
    try connection.receive()
    return connection.receivedNotifications()
  }
}
