internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Observability
internal import Storage

extension Backend {
  /// Finds out the reply to a query of a session.
  func reply(to query: Query, from requester: Requester) async -> Reply {
    do {
      return try await attempt(query, from: requester)
    } catch {
      if isFailure(error) {
        log.error("request failed", ["request": query.name, "cause": "\(error)"])
      }
      if case .file = query { return .file(.refused(.internalError)) }
      return .failed
    }
  }

  /// Reads a part of a user's mailbox; nil if it cannot be read.
  func page(of user: EncryptionPublicKey, after position: StreamPosition) async -> StreamPage? {
    do {
      return try await store.page(
        of: user, after: position, maxBytes: store.limits.pageBytes,
        maxEntries: store.limits.pageEntries)
    } catch {
      if isFailure(error) {
        log.error("stream ended: the queue can't be read", ["cause": "\(error)"])
      }
      return nil
    }
  }

  /// Whether an error is a failure, which is counted. The store is closed once all sessions are; what is
  /// left of them is no failure.
  private func isFailure(_ error: any Error) -> Bool {
    guard (error as? StoreError)?.code != .closed else { return false }
    metrics.failed.add()
    return true
  }

  private func attempt(_ query: Query, from requester: Requester) async throws -> Reply {
    let session = requester.session
    switch query {
    case .claim(let key): return .claimed(ephemeralKeys.claim(key))
    case .register(let new, let name, let uid):
      return .registered(
        try await accounts.register(new, name: name, uid: uid, from: requester.network))
    case .authenticationKey(let user):
      return .authenticationKey(try await store.authenticationKey(of: user))
    case .start(let user, let key, let head, let max):
      guard try await ephemeralKeys.note(key, usedBy: user) else { return .claimed(false) }
      return .started(try await store.start(of: user, head: head, max: max))
    case .post(let posts): return .posted(try await messages.deliver(posts, from: requester))
    case .truncate(let id, let user):
      return .truncated(try await messages.truncate(id, of: user, from: session))
    case .vouchers(let subject): return .vouchers(try await store.vouchers(of: subject))
    case .searchName(let name, let max):
      return .found(try await accounts.search(name: name, max: max, from: requester.network))
    case .searchUid(let uid, let max):
      return .found(try await accounts.search(uid: uid, max: max))
    case .searchKey(let key): return .found(try await store.search(key: key).map { [$0] } ?? [])
    case .file(let request):
      if case .write(let content?) = request.act,
        !clients.mayStore(content.count, from: requester.network)
      {
        return .file(.refused(.overQuota))
      }
      return .file(try await files.reply(to: request, in: session))
    case .makeForum(let new, let name, let author):
      _ = try await store.createForum(
        new.key, authenticationKey: new.authenticationKey, name: name.text, author: author)
    case .deleteForum(let key, let user): try await files.deleteForum(key, by: user)
    case .vouch(let subject, let voucher): _ = try await store.vouch(for: subject, by: voucher)
    case .revoke(let subject, let voucher): try await store.revokeVouch(for: subject, by: voucher)
    }
    return .done
  }
}

extension Query {
  /// The kind of query, for the log: nothing of what a device sent.
  fileprivate var name: String {
    switch self {
    case .claim: "claim"
    case .register: "new"
    case .authenticationKey: "login"
    case .start: "stream"
    case .makeForum: "new forum"
    case .deleteForum: "del"
    case .post: "message"
    case .truncate: "truncate"
    case .vouch, .revoke: "vouch"
    case .vouchers: "vouchers"
    case .searchName, .searchUid, .searchKey: "search"
    case .file: "file"
    }
  }
}
