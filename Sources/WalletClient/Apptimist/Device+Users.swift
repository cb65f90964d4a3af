internal import ApptimistProtocol
public import Cryptography

extension Device {
  /// Finds users and forums by name, in any case: those of exactly this name, then those whose name begins so.
  ///
  /// - Parameters:
  ///   - name: at most 255 bytes; with `*` or `?` a pattern for the whole name.
  ///   - limit: the most results, or zero for as many as the service has.
  /// - Throws: `.unsendable` if the name is too long.
  public func search(name: String, limit: UInt16 = 0) async throws(DeviceError) -> [DeviceUser] {
    guard let name = ShortBytes(name) else { throw .unsendable }
    return try await users(.name(name), limit: limit)
  }

  /// Finds users by their identity at the identity provider.
  ///
  /// - Parameters:
  ///   - uid: the exact identity, at most 255 bytes.
  ///   - limit: the most results, or zero for as many as the service has.
  /// - Throws: `.unsendable` if the identity is too long.
  public func search(uid: String, limit: UInt16 = 0) async throws(DeviceError) -> [DeviceUser] {
    guard let uid = ShortBytes(uid) else { throw .unsendable }
    return try await users(.uid(uid), limit: limit)
  }

  /// Looks a user or a forum up.
  ///
  /// - Parameter key: the key of the user or forum.
  /// - Returns: the user or forum, or nil if nobody has this key.
  public func user(_ key: EncryptionPublicKey) async throws(DeviceError) -> DeviceUser? {
    // The service isn't believed to have found another.
    try await users(.key(key), limit: 1).first { $0.key == key }
  }

  /// Requests all pages of a search, and remembers the accounts in them.
  private func users(
    _ search: DeviceRequest.Search, limit: UInt16
  ) async throws(DeviceError) -> [DeviceUser] {
    var found: [DeviceUser] = []
    var cursor = Version2.Cursor()
    repeat {
      let page = Version2.PageQuery(max: limit, cursor: cursor)
      guard case .users(let users, let next) = try await exchange(.search(search, page)) else {
        break
      }
      found += users.map(recorded)
      cursor = next
    } while !cursor.isZero && (limit == 0 || found.count < limit)
    return limit == 0 ? found : Array(found.prefix(Int(limit)))
  }

  private func recorded(_ user: DeviceUser) -> DeviceUser {
    remember(known.record(user))
    var user = user
    user.hasChangedKey =
      user.authenticationKey != nil && user.authenticationKey != known[user.key].authenticationKey
    return user
  }

  /// Vouches for a user; the service shows the voucher to others.
  ///
  /// - Parameter subject: another user.
  /// - Throws: `.unknownUser`; `.unsendable` for oneself.
  public func vouch(for subject: EncryptionPublicKey) async throws(DeviceError) {
    try await vouch(subject, isTakenBack: false)
  }

  /// Deletes the user's account with all that it has at the service; the key can't be used again. The device can't connect again.
  ///
  /// - Throws: `.service` in version 1; `.interrupted` if it may have been done or not.
  public func leave() async throws(DeviceError) { _ = try await exchange(.leave) }

  /// Becomes a reader of a forum, by holding the token that it requires.
  ///
  /// - Parameter forum: the forum's key.
  /// - Throws: `.service`, with `.notPermitted` for a user who holds too little; in version 1 always.
  public func join(_ forum: EncryptionPublicKey) async throws(DeviceError) {
    _ = try await exchange(.join(forum))
  }

  /// Withdraws a voucher.
  ///
  /// - Parameter subject: another user.
  /// - Throws: `.unknownUser`; `.unsendable` for oneself.
  public func revokeVouch(for subject: EncryptionPublicKey) async throws(DeviceError) {
    try await vouch(subject, isTakenBack: true)
  }

  private func vouch(_ subject: EncryptionPublicKey, isTakenBack: Bool) async throws(DeviceError) {
    // In version 1 the signature of the own key is the login.
    guard subject != user else { throw .unsendable }
    _ = try await exchange(.vouch(subject, isTakenBack: isTakenBack))
  }

  /// Returns the users who vouch for a user at present.
  ///
  /// - Parameter subject: any key.
  /// - Returns: the users, the oldest voucher first, each with the evidence; empty for a key that nobody has.
  public func vouchers(
    of subject: EncryptionPublicKey
  ) async throws(DeviceError) -> [DeviceVoucher] {
    var found: [DeviceVoucher] = []
    var cursor = Version2.Cursor()
    repeat {
      let page = Version2.PageQuery(cursor: cursor)
      guard case .vouchers(let vouchers, let next) = try await exchange(.vouchers(subject, page))
      else { break }
      found += vouchers.map {
        DeviceVoucher(user: $0.voucher, evidence: evidence($0, for: subject))
      }
      cursor = next
    } while !cursor.isZero
    return found
  }

  private func evidence(
    _ voucher: Version2.Voucher, for subject: EncryptionPublicKey
  ) -> DeviceVoucher.Evidence {
    if voucher.signature.isZero { return .service }
    let signed = Version2.vouch(for: subject, by: voucher.voucher, at: service.encryptionKey)
    let key = known[voucher.voucher].authenticationKey ?? voucher.authenticationKey
    return key.verifies(voucher.signature, over: signed) ? .signature : .forged
  }
}
