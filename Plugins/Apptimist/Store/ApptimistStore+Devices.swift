internal import ApptimistProtocol
internal import Cryptography
internal import Storage

/// A position that a device has acknowledged.
struct Acknowledgement: Sendable {
  /// A user's device.
  struct Device: Hashable, Sendable {
    let user: EncryptionPublicKey
    let id: Version2.DeviceID
  }

  let device: Device
  let position: StreamPosition
}

extension ApptimistStore {
  /// Keeps what devices have acknowledged; a lower position than before changes nothing.
  func acknowledge(_ acknowledgements: [Acknowledgement]) async throws {
    let spared = try await store.write { transaction in
      var spared = 0
      for acknowledgement in acknowledgements {
        guard let user = try userNumber(of: acknowledgement.device.user, transaction) else {
          continue
        }
        try transaction.execute(
          """
          INSERT INTO apptimist_devices (owner, device, position, used) VALUES (?1, ?2, ?3,
            1 + coalesce((SELECT max(used) FROM apptimist_devices WHERE owner = ?1), 0))
          ON CONFLICT (owner, device)
          DO UPDATE SET used = excluded.used, position = CASE
            WHEN apptimist_devices.position < excluded.position THEN excluded.position
            ELSE apptimist_devices.position END
          """, user, acknowledgement.device.id, acknowledgement.position)
        try transaction.execute(
          """
          DELETE FROM apptimist_devices WHERE owner = ?1 AND used <=
            (SELECT used FROM apptimist_devices WHERE owner = ?1 ORDER BY used DESC LIMIT 1 OFFSET ?2)
          """, user, limits.devices)
        spared +=
          try mailboxes.wakes?.show(
            upTo: acknowledgement.position, acknowledgement.device.id, of: user, transaction) ?? 0
      }
      return spared
    }
    mailboxes.wakes?.tell(0, spared, false)
  }

  /// Looks up the place at which a device's stream begins (page "The stream").
  ///
  /// - Returns: nil if there is no such user.
  func beginning(_ request: StreamRequest) async throws -> StreamBeginning? {
    try await readMailbox(of: request.user) { user, snapshot in
      let epoch = try Self.epoch(snapshot)
      let last = try mailboxes.state(of: user, snapshot).last
      let first: StreamPosition? = try snapshot.value(
        "SELECT position FROM apptimist_entries WHERE owner = ? ORDER BY position LIMIT 1", user)
      let start: StreamPosition
      if let after = request.after {
        // A place that nobody was given is of another history, too.
        let has = StreamPosition(rawValue: Int64(clamping: after))
        start = request.epoch == epoch && has <= last ? has : .zero
      } else {
        let acknowledged: StreamPosition? = try snapshot.value(
          "SELECT position FROM apptimist_devices WHERE owner = ? AND device = ?", user,
          request.device)
        let head =
          try acknowledged == nil && !request.head.isZero
          ? mailboxes.position(of: request.head, in: user, snapshot) : nil
        start = acknowledged ?? head ?? .zero
      }
      return StreamBeginning(
        epoch: epoch, first: first ?? last.next, last: last,
        start: try notBefore(request.max, min(start, last), in: user, snapshot),
        isClosed: try Self.isClosed(user, snapshot))
    }
  }

  /// Notes that a device was used, so that others are forgotten before it.
  func use(_ device: Acknowledgement.Device) async throws {
    let isLatest: Bool? = try await store.read { snapshot in
      guard let user = try userNumber(of: device.user, snapshot) else { return nil }
      return try snapshot.value(
        """
        SELECT used = (SELECT max(used) FROM apptimist_devices WHERE owner = ?1)
        FROM apptimist_devices WHERE owner = ?1 AND device = ?2
        """, user, device.id)
    }
    guard isLatest == false else { return }
    try await acknowledge([Acknowledgement(device: device, position: .zero)])
  }

  /// Returns the epoch of the positions, which is the history of the store.
  func epoch() async throws -> UInt64 { try await store.read { try Self.epoch($0) } }

  private static func epoch(_ snapshot: borrowing Snapshot) throws -> UInt64 {
    UInt64(bitPattern: try snapshot.history())
  }

  /// Looks up the position at which a user's stream tells of a truncation; zero if it is not known.
  func truncation(of id: MessageID, user: EncryptionPublicKey) async throws -> StreamPosition {
    try await store.read { snapshot in
      guard let number = try userNumber(of: user, snapshot) else { return .zero }
      let position: StreamPosition?? = try snapshot.value(
        "SELECT truncated_at FROM apptimist_message_ids WHERE owner = ? AND message_id = ?", number,
        KnownID(id))
      return (position ?? nil) ?? .zero
    }
  }
}
