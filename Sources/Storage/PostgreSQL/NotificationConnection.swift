internal import CPostgreSQL
internal import Glibc
internal import Time

/// A connection to PostgreSQL for notifications (LISTEN and NOTIFY), for one thread at a time.
package struct NotificationConnection: ~Copyable {
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

  /// Hears what is told on a channel from now on.
  ///
  /// - Parameter channel: a name of letters.
  package func listen(to channel: StaticString) throws(StoreError) {
    try connection.run("LISTEN \(channel)")
  }

  /// Tells all that listen to a channel.
  ///
  /// - Parameters:
  ///   - payload: the text, of less than 8,000 bytes.
  ///   - channel: a name of letters.
  package func tell(_ payload: String, on channel: String) throws {
    try connection.forEach("SELECT pg_notify(?, ?)", channel, payload) { _ in }
  }

  /// Waits for something to be told.
  ///
  /// - Parameter limit: the longest time to wait.
  /// - Returns: the payloads in order; none when the time is over.
  /// - Throws: ``StoreError`` if the connection is lost.
  package func told(within limit: Duration) throws(StoreError) -> [String] {
    try connection.notifications(within: limit)
  }
}

extension PostgreSQLConnection {
  fileprivate func notifications(within limit: Duration) throws(StoreError) -> [String] {
    var payloads = takeNotifications()
    guard payloads.isEmpty else { return payloads }
    var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&descriptor, 1, Int32(clamping: limit.milliseconds))
    try receive()
    payloads = takeNotifications()
    return payloads
  }
}
