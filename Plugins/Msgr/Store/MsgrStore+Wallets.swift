internal import Cryptography
internal import Ethereum
internal import Formats
internal import Platform
internal import ServiceKit
internal import Storage

extension MsgrStore {
  /// Logs in the user whose wallet has signed, or makes an account without a password.
  ///
  /// - Parameters:
  ///   - name: the name of a new account, or nil if none may be made.
  ///   - invitation: an invitation that is used once for a new account, if one is needed.
  ///   - device: a device that is bound to the account, and its token.
  /// - Throws: `.forbidden` if the name is taken, there is none, or the nonce was used; `.badInvitation`.
  func login(
    _ proof: WalletProof, orAs name: UserName?, invitation: InvitationHash?,
    device: (DeviceLogin, TokenHash)
  ) async throws -> StoredLogin {
    try await store.write { transaction in
      try use(proof, transaction)
      if let name, try owner(of: proof, transaction) == nil {
        // No password has an empty hash.
        try add(name, hash: "", site: proof.network?.site, invitation, transaction)
        try insert(proof, of: name, transaction)
      }
      let owner = try owner(of: proof, transaction)
      guard let owner, try !isDisabled(owner, transaction) else { throw RequestRefusal.forbidden }
      return try login(owner, device.0, device.1, transaction)
    }
  }

  /// Looks up the user of a wallet.
  func owner(of proof: WalletProof) async throws -> UserName? {
    try await store.read { try owner(of: proof, $0) }
  }

  private func owner(
    of proof: WalletProof, _ database: borrowing some Queryable & ~Copyable
  ) throws -> UserName? {
    try database.value(
      "SELECT username FROM msgr_wallets WHERE address = ? AND chain = ?",
      proof.address.lowercase, proof.chain.number)
  }

  /// Uses a nonce up.
  ///
  /// - Throws: `.forbidden` if it was used before.
  func use(_ proof: WalletProof, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      "INSERT INTO msgr_wallet_nonces (nonce, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
      proof.nonce, proof.end)
    guard transaction.changes == 1 else { throw RequestRefusal.forbidden }
  }

  /// Binds a wallet that is nobody's to an account.
  private func insert(
    _ proof: WalletProof, of name: UserName, _ transaction: borrowing Transaction
  ) throws {
    try transaction.execute(
      "INSERT INTO msgr_wallets VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
      proof.address.lowercase, proof.chain.number, name)
  }

  /// Binds a wallet to the caller's account, or unbinds one.
  ///
  /// - Parameters:
  ///   - proof: the wallet to bind, if there is one.
  ///   - address: the address of the wallets to unbind, if there is one.
  /// - Returns: the caller's wallets.
  /// - Throws: `.forbidden` if a wallet is another's, which counts as a failed login; `.denied` if it is the last one of an
  ///   account without a password; `.tooManyContacts` if there are more than an account may have devices.
  func wallets(
    of caller: Caller, binding proof: WalletProof?, unbinding address: EthereumAddress?
  ) async throws -> [String] {
    try await write(as: caller) { transaction in
      if let proof {
        try use(proof, transaction)
        try insert(proof, of: caller.name, transaction)
        guard try owner(of: proof, transaction) == caller.name else {
          throw RequestRefusal.forbidden
        }
      }
      if let address {
        try transaction.execute(
          "DELETE FROM msgr_wallets WHERE address = ? AND username = ?", address.lowercase,
          caller.name)
        guard transaction.changes > 0 else { throw RequestRefusal.denied(.noSuchWallet) }
      }
      let wallets = try wallets(of: caller.name, transaction)
      let isOpen = try transaction.exists(
        "SELECT 1 FROM msgr_users WHERE username = ? AND password = ''", caller.name)
      guard !wallets.isEmpty || !isOpen else { throw RequestRefusal.denied(.lastWallet) }
      guard wallets.count <= limits.devices else { throw RequestRefusal.tooManyContacts }
      return wallets
    }
  }

  /// Reads a user's wallets, as CAIP-10 writes them.
  func wallets(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [String] {
    try database.all(
      "SELECT chain, address FROM msgr_wallets WHERE username = ? ORDER BY chain, address", name
    ) { "eip155:\(try $0[0] as Int64):\(try $0[1] as String)" }
  }

  /// Returns the user of an address on a chain. On another chain a contract of somebody else's may have it.
  ///
  /// - Throws: `.denied` if there is none.
  func find(
    _ address: EthereumAddress, on chain: ChainID, by caller: Caller
  ) async throws -> UserName {
    let name: UserName? = try await read(as: caller) { snapshot in
      try snapshot.value(
        "SELECT username FROM msgr_wallets WHERE address = ? AND chain = ?", address.lowercase,
        chain.number)
    }
    guard let name else { throw RequestRefusal.denied(.nobodysWallet) }
    return name
  }
}

extension MsgrStore {
  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - uses: the number of accounts that can be made with it.
  ///   - end: the moment at which it expires.
  func addInvitation(_ invitation: InvitationHash, uses: Int, expires end: Timestamp) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO msgr_invitations (hash, uses, expires_at) VALUES (?, ?, ?)",
        invitation, uses, end)
    }
  }

  /// Returns whether an account can be made with an invitation.
  func isGood(_ invitation: InvitationHash) async throws -> Bool {
    try await store.read { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM msgr_invitations WHERE hash = ? AND uses > 0 AND expires_at > ?",
        invitation, now)
    }
  }

  /// Uses an invitation once, within the transaction that makes the account.
  ///
  /// - Throws: `.badInvitation`.
  func use(_ invitation: InvitationHash, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      """
      UPDATE msgr_invitations SET uses = uses - 1 WHERE hash = ? AND uses > 0 AND expires_at > ?
      """, invitation, now)
    guard transaction.changes == 1 else { throw RequestRefusal.badInvitation }
  }
}
