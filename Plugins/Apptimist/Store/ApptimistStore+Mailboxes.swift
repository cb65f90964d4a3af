internal import ApptimistProtocol
internal import Cryptography
internal import Storage

extension ApptimistStore {
  /// Delivers messages to their recipients, as ``DeliveryStrategy`` does.
  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin
  ) async -> [Result<DeliveredPiece, any Error>] { await deliveries.deliver(pieces, from: login) }

  /// Deletes a message's content from a user's mailbox; its place stays, and the stream tells it.
  ///
  /// - Parameter login: of the user who asks for it; nothing is changed if it holds no more.
  /// - Returns: the result, and the nodes to be notified of a new truncation.
  func truncate(
    _ id: MessageID, of login: AccountLogin
  ) async throws -> (truncation: Truncation, nodes: [NodeID]) {
    try await deliveries.write(isolation: .rowLocks) {
      pending, transaction -> (truncation: Truncation, nodes: [NodeID]) in
      guard let number = try account(of: login, transaction) else { return (.never, []) }
      try deliveries.lock(mailboxOf: number, transaction)
      try mailboxes.flush(login.user, &pending, transaction)
      pending.forget(login.user)
      let known = try transaction.one(
        """
        SELECT position, is_truncated FROM apptimist_message_ids WHERE owner = ? AND message_id = ?
        """, number, KnownID(id)
      ) { row in (position: try row[0] as MailboxPosition, isTruncated: try row[1] as Bool) }
      guard let known else { return (.never, []) }
      guard !known.isTruncated else { return (.again, []) }
      var mailbox = try mailboxes.state(of: number, transaction)
      try transaction.execute(
        """
        UPDATE apptimist_message_ids SET is_truncated = 1, truncated_at = ?
        WHERE owner = ? AND message_id = ?
        """, mailbox.last.next, number, KnownID(id))
      try mailboxes.clear(known.position, in: &mailbox, transaction)
      // It is the user's own doing, and counts as such.
      let holder = ShareHolder(contact: number)
      _ = try mailboxes.makeRoom(
        for: Mailboxes.truncationSize, from: holder, in: &mailbox, transaction)
      try mailboxes.append(
        .truncation, id, size: Mailboxes.truncationSize, from: holder, message: nil, to: &mailbox,
        transaction)
      try mailboxes.save(&mailbox, transaction)
      return (.first(mailbox.last), try deliveries.nodes(of: number, transaction))
    }
  }

  /// Reads a mailbox that has all that has been delivered to it.
  ///
  /// - Parameters:
  ///   - user: the user whose mailbox it is.
  ///   - body: reads the mailbox of the user, whose number it gets.
  /// - Returns: the closure's result, or nil if there is no such user.
  func readMailbox<Value: Sendable>(
    of user: EncryptionPublicKey,
    _ body: @escaping @Sendable (AccountNumber, borrowing Snapshot) throws -> Value
  ) async throws -> Value? {
    try await deliveries.flush(user)
    return try await store.read { snapshot in
      guard let user = try userNumber(of: user, snapshot) else { return nil }
      return try body(user, snapshot)
    }
  }

  /// Puts all that is pending for anybody into the mailboxes.
  func flushAll() async throws {
    try await deliveries.write(isolation: .serializable) { [mailboxes] pending, transaction in
      try mailboxes.flushAll(&pending, transaction)
    }
  }
}
