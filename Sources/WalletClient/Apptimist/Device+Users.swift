internal import ApptimistProtocol
public import Cryptography

extension Device {
  /// Finds users and forums by name, in any case: those of exactly this name, then those whose name begins so.
  ///
  /// - Parameters:
  ///   - name: at most 255 bytes; with `*` or `?` a pattern for the whole name.
  ///   - limit: the most results, or zero for as many as the service likes.
  /// - Throws: `.unsendable` if the name is too long.
  public func search(
    name: String, limit: UInt16 = 0
  ) async throws(DeviceError) -> [DeviceUser] {
    guard let name = ShortBytes(name) else { throw .unsendable }
    return try await users(.searchByName(PDU.SearchByName(maxUsers: limit, text: name)))
  }

  /// Finds users by their identity at the identity provider.
  ///
  /// - Parameters:
  ///   - uid: the exact identity, at most 255 bytes.
  ///   - limit: the most results, or zero for as many as the service likes.
  /// - Throws: `.unsendable` if the identity is too long.
  public func search(uid: String, limit: UInt16 = 0) async throws(DeviceError) -> [DeviceUser] {
    guard let uid = ShortBytes(uid) else { throw .unsendable }
    return try await users(.searchByUid(PDU.SearchByUid(maxUsers: limit, text: uid)))
  }

  /// Looks a user or a forum up.
  ///
  /// - Parameter key: the key of the user or forum.
  /// - Returns: the user or forum, or nil if nobody has this key.
  public func user(_ key: EncryptionPublicKey) async throws(DeviceError) -> DeviceUser? {
    try await users(.searchByKey(PDU.SearchByKey(key: key))).first
  }

  private func users(_ search: PDU) async throws(DeviceError) -> [DeviceUser] {
    let reply = try await ask(DeviceRequest([DeviceRequest.Part(pdu: search)], expecting: .users()))
    guard case .users(let users) = reply else { return [] }
    return users.compactMap { DeviceUser($0) }
  }

  /// Vouches for a user, which the service tells others.
  ///
  /// - Parameter subject: another user.
  /// - Throws: `.unknownUser`; `.unsendable` for oneself.
  public func vouch(for subject: EncryptionPublicKey) async throws(DeviceError) {
    try await vouch(subject, keys.authentication.sign(subject))
  }

  /// Takes back a voucher.
  ///
  /// - Parameter subject: another user.
  /// - Throws: `.unknownUser`; `.unsendable` for oneself.
  public func revokeVouch(for subject: EncryptionPublicKey) async throws(DeviceError) {
    try await vouch(subject, Signature())
  }

  private func vouch(
    _ subject: EncryptionPublicKey, _ signature: Signature
  ) async throws(DeviceError) {
    // The signature of the own key is the login.
    guard subject != user else { throw .unsendable }
    let vouch = PDU.Vouch(subject: subject, signature: signature)
    let reply = try await ask(DeviceRequest(.vouch(vouch), then: subject))
    if reply == .users([]) { throw .unknownUser }
  }

  /// Returns the users who vouch for a user at present, as the service says.
  ///
  /// - Parameter subject: any key.
  /// - Returns: their keys, the oldest voucher first; empty for a key that nobody has.
  public func vouchers(
    of subject: EncryptionPublicKey
  ) async throws(DeviceError) -> [EncryptionPublicKey] {
    let query = PDU.vouchers(PDU.Vouchers(subject: subject, vouchers: []))
    let reply = try await ask(
      DeviceRequest([DeviceRequest.Part(pdu: query)], expecting: .vouchers(subject)))
    guard case .vouchers(let vouchers) = reply else { return [] }
    return vouchers
  }
}
