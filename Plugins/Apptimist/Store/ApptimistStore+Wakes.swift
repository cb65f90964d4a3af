internal import ApptimistProtocol
internal import Push
internal import Storage

extension ApptimistStore {
  /// The wakes of devices, or nil if the service pushes nothing.
  private var wakes: Wakes? { mailboxes.wakes }

  /// Returns the binding of a device; nil if it has none.
  func binding(of device: Acknowledgement.Device) async throws -> WakeBinding? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one(
        """
        SELECT a.kind, a.address, a.tag, a.flags, a.keys
        FROM apptimist_users u JOIN apptimist_addresses a ON a.owner = u.id
        WHERE u.key = ? AND a.device = ?
        """, device.user, device.id
      ) { row in
        WakeBinding(
          address: PushAddress(stored: try row[0], try row[1]), tag: try row[2],
          isChosen: try row[3], keys: try row[4])
      }
    }
  }

  /// Binds a device, or unbinds it.
  ///
  /// - Parameters:
  ///   - binding: the binding, or nil for none.
  ///   - login: the session's login; nothing is changed if it holds no more.
  func bind(
    _ binding: WakeBinding?, to device: Version2.DeviceID, in session: NodeSession,
    by login: AccountLogin
  ) async throws {
    try await deliveries.write(isolation: .serializable) { pending, transaction in
      guard let wakes, let user = try account(of: login, transaction) else { return }
      guard let binding else {
        return try transaction.execute(
          "DELETE FROM apptimist_addresses WHERE owner = ? AND device = ?", user, device)
      }
      try deliveries.lock(directoriesOf: user, transaction)
      try wakes.bind(binding, to: device, of: user, transaction)
      try record(session, of: user, device, transaction)
      pending.bind(login.user)
    }
  }

  private func record(
    _ session: NodeSession, of user: AccountNumber, _ device: Version2.DeviceID,
    _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO apptimist_sessions (owner, node, session, device) VALUES (?, ?, ?, ?)
      ON CONFLICT (node, session) DO UPDATE SET device = excluded.device
      """, user, session.node, session.session, device)
  }

  /// Records that a device logs in, and so shows itself: all that is queued is answered for.
  func show(_ device: Acknowledgement.Device, in session: NodeSession) async throws {
    guard let wakes, try await binding(of: device) != nil else { return }
    let cancelled = try await store.write(isolation: .rowLocks) { transaction in
      guard let user = try userNumber(of: device.user, transaction) else { return 0 }
      try record(session, of: user, device.id, transaction)
      return try wakes.show(device.id, of: user, transaction)
    }
    wakes.report(0, cancelled, false)
  }

  /// Forgets a session that is over, and its locks.
  func leave(_ session: NodeSession) async throws {
    guard store.isShared || wakes != nil else { return }
    let isDue = try await store.write(isolation: .rowLocks) { transaction in
      let ended = try transaction.one(
        "DELETE FROM apptimist_sessions WHERE node = ? AND session = ? RETURNING owner, device",
        session.node, session.session
      ) { row in (user: try row[0] as AccountNumber, device: try row[1] as Version2.DeviceID?) }
      if store.isShared {
        try transaction.execute(
          "DELETE FROM apptimist_locks WHERE node = ? AND session = ?", session.node,
          session.session)
      }
      guard let wakes, let ended, let device = ended.device else { return false }
      return try wakes.release(device, of: ended.user, transaction)
    }
    wakes?.report(0, 0, isDue)
  }

  /// Forgets the sessions of an earlier run, in a store that is this process's own.
  func forgetSessions() async throws {
    guard !store.isShared else { return }
    try await store.write { try $0.execute("DELETE FROM apptimist_sessions") }
  }
}
