internal import ApptimistProtocol
internal import Cryptography

/// The reply to a request, as far as it has come.
enum PartialReply {
  /// One `user`: this one, or nobody.
  case user(EncryptionPublicKey)
  /// `user`s, the last of which says that none follows, and those that have come.
  case users([PDU.User] = [])
  /// `vouchers` for this subject.
  case vouchers(EncryptionPublicKey)
  /// The PDU of the same type for the same file.
  case file(PDU)
  /// The echo of a truncation, unless the message was never there, and then this `user`.
  case truncation(MessageID, EncryptionPublicKey, isEchoed: Bool = false)

  /// The result of giving a PDU to a reply.
  enum Progress: Equatable {
    /// More PDUs belong to the reply.
    case incomplete
    case complete(Version1Reply)
    /// The PDU doesn't belong to the reply.
    case mismatch
  }

  /// Takes the echo of a truncation.
  ///
  /// - Returns: whether the echo belongs to this reply.
  mutating func takeEcho(_ message: MessageID) -> Bool {
    guard case .truncation(message, let user, _) = self else { return false }
    self = .truncation(message, user, isEchoed: true)
    return true
  }

  /// Takes a PDU.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - data: its data, boxed.
  mutating func take(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> Progress {
    if case .users(let users) = self, case .user(let user) = pdu { return take(user, after: users) }
    switch (self, pdu) {
    case (.user(let key), .user(let user)):
      return Self.isFinding(user, of: key)
        ? .complete(.users(user.key.isZero ? [] : [user])) : .mismatch
    case (.truncation(_, let key, let isEchoed), .user(let user)):
      return Self.isFinding(user, of: key) ? .complete(.truncated(isEchoed)) : .mismatch
    case (.vouchers(let subject), .vouchers(let found)) where found.subject == subject:
      return .complete(.vouchers(found.vouchers))
    case (.file(.read(let query)), .read(let reply)): return Self.check(query, reply, data)
    case (.file(.lock(let query)), .lock(let reply)): return Self.check(query, reply, data)
    case (.file(.write(let query)), .write(let reply)): return Self.check(query, reply, data)
    case (.file(.remove(let query)), .remove(let reply)): return Self.check(query, reply, data)
    default: return .mismatch
    }
  }

  private mutating func take(_ user: PDU.User, after users: consuming [PDU.User]) -> Progress {
    if let last = users.last, user.count != last.count - 1 { return .mismatch }
    // Otherwise the array would be copied for each user.
    self = .users()
    users.append(user)
    guard user.count == 0 else {
      self = .users(users)
      return .incomplete
    }
    return .complete(.users(users.filter { !$0.key.isZero }))
  }

  /// Returns whether a `user` is the whole reply to the search for a key.
  private static func isFinding(_ user: PDU.User, of key: EncryptionPublicKey) -> Bool {
    user.count == 0 && (user.key == key || user.key.isZero)
  }

  private static func check<let type: Int>(
    _ query: PDU.FileRequest<type>, _ reply: PDU.FileRequest<type>, _ data: ArraySlice<UInt8>
  ) -> Progress {
    reply == query.reply(reply.error)
      ? .complete(.file(reply.error, box: Array(data))) : .mismatch
  }
}
