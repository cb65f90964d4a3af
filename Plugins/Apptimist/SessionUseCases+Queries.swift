internal import ApptimistProtocol
internal import Cryptography
internal import Observability
internal import Push
internal import Storage

extension SessionUseCases {
  /// Carries out a query of a session, whose promise has the reply afterwards, unless it failed.
  func perform(_ query: Query, for requester: Requester) async {
    do { try await attempt(query, for: requester) } catch {
      if isFailure(error) {
        log.error("request failed", ["request": query.name, "cause": "\(error)"])
      }
    }
  }

  /// Reads a part of the mailbox of a user who has logged in; nil if it cannot be read.
  func page(for login: AccountLogin, after position: MailboxPosition) async -> MailboxPage? {
    do {
      return try await store.page(
        of: login.user, after: position, maxBytes: store.limits.pageBytes,
        maxEntries: store.limits.pageEntries, login: login)
    } catch {
      if isFailure(error) {
        log.error("stream ended: the mailbox can't be read", ["cause": "\(error)"])
      }
      return nil
    }
  }

  /// Returns whether an error is a failure, which is counted. The store is closed once all sessions are; what is left
  /// of them is no failure.
  private func isFailure(_ error: any Error) -> Bool {
    guard (error as? StoreError)?.code != .closed else { return false }
    metrics.failed.add()
    return true
  }

  /// Returns whether the content of a file may be stored.
  private func mayStore(_ content: [UInt8], for requester: Requester) async throws -> Bool {
    let user = try requester.loggedIn().user
    guard try await !messages.isRefusedNewcomer(user) else { return false }
    return try await messages.mayStore(content.count, for: requester)
  }

  private func attempt(_ query: Query, for requester: Requester) async throws {
    switch query {
    case .claim(let key, let reply): reply.fulfil(ephemeralKeys.claim(key))
    case .register(let new, let reply): reply.fulfil(try await register(new, from: requester))
    case .start(let origin, let reply):
      let isFirst = try await ephemeralKeys.record(origin.ephemeralKey, usedBy: origin.user)
      let start =
        isFirst
        ? try await store.start(of: origin.user, head: origin.head, max: origin.max) : nil
      reply.fulfil(start)
    case .post(let posts, let reply):
      reply.fulfil(try await messages.deliver(posts, from: requester).outcomes)
    case .truncate(let id, let reply):
      reply.fulfil(try await messages.truncate(id, from: requester))
    case .vouchers(let subject, let reply):
      reply.fulfil(try await store.vouchers(of: subject))
    case .find(let search, let reply):
      let found = try await accounts.search(
        search, behind: nil, max: search.count(upTo: store.limits.found), from: requester.network)
      reply.fulfil(found.map(\.user))
    case .file(let request, let reply):
      if case .write(let content?) = request.act, try await !mayStore(content, for: requester) {
        return reply.fulfil(.refused(.overQuota))
      }
      reply.fulfil(
        try await files.reply(to: request, by: requester.loggedIn(), in: requester.session))
    case .makeForum(let new, let reply):
      reply.fulfil(try await makeForum(new, author: requester.loggedIn()))
    case .deleteForum(let key, let reply):
      reply.fulfil(try await files.deleteForum(key, by: requester.loggedIn()))
    case .vouch(let subject, let signature, let reply):
      reply.fulfil(
        try await store.vouch(for: subject, by: requester.loggedIn(), signature: signature))
    case .revoke(let subject, let reply):
      try await store.revokeVouch(for: subject, by: requester.loggedIn())
      reply.fulfil(.done)
    case .account(let key, let reply): reply.fulfil(try await store.knownAccount(key))
    case .begin(let request, let reply):
      reply.fulfil(try await begin(request, in: requester.session))
    case .truncation(let id, let reply):
      reply.fulfil(try await store.truncation(of: id, user: requester.loggedIn().user))
    case .acknowledge(let position, let id, let isAnswered, let reply):
      let device = Acknowledgement.Device(user: try requester.loggedIn().user, id: id)
      let acknowledgement = Acknowledgement(device: device, position: position)
      if isAnswered {
        try await store.acknowledge([acknowledgement])
      } else {
        acknowledgements.record(acknowledgement)
      }
      reply.fulfil(.done)
    case .leave(let reply): reply.fulfil(try await leave(requester))
    case .join(let forum, let reply): reply.fulfil(try await gates.join(forum, requester))
    case .push(let push, let data, let device, let reply):
      reply.fulfil(try await bind(push, data, device, requester))
    case .exists(let key, let reply):
      reply.fulfil(try await store.exists(key) ? .done : .notFound)
    case .voucherPage(let query, let reply): reply.fulfil(try await lists.vouchers(query))
    case .search(let search, let reply):
      reply.fulfil(try await lists.accounts(search, for: requester.network))
    }
  }
}

extension SessionUseCases {
  /// The kinds of push addresses, in the order of their numbers, which begin at 1.
  private static let pushKinds: [PushKind] = [.apns, .apnsSandbox, .fcm, .web]

  /// The names of the kinds of push addresses that are served; nil if none is.
  var pushNames: [String]? {
    wakes.map { wakes in Self.pushKinds.filter(wakes.queue.kinds.contains).map(\.name) }
  }

  /// Binds a device to a push address, or unbinds it (page "Wakes").
  ///
  /// - Returns: the first error that applies.
  private func bind(
    _ push: Version2.Push, _ data: [UInt8], _ id: Version2.DeviceID, _ requester: Requester
  ) async throws -> ErrorCode {
    let kind = (1...4).contains(push.kind) ? Self.pushKinds[Int(push.kind) - 1] : nil
    guard let wakes, kind.map(wakes.queue.kinds.contains) ?? true else { return .noSuchType }
    var binding: WakeBinding?
    if let kind {
      let length = Int(push.addressLength)
      guard push.flags <= 1, push.keyCount <= 256,
        data.count == length + Int(push.keyCount) * EncryptionPublicKey.byteCount,
        let address = try? PushAddress(
          kind, bytes: Array(data.prefix(length)), allowed: pushes.allowedWebHosts)
      else { return .badField }
      binding = WakeBinding(
        address: address, tag: push.tag.bytes, isChosen: push.flags == 1,
        keys: Array(data.dropFirst(length)))
    } else if push != Version2.Push(nil) || !data.isEmpty {
      return .badField
    }
    let login = try requester.loggedIn()
    let device = Acknowledgement.Device(user: login.user, id: id)
    guard try await store.binding(of: device) != binding else { return .done }
    guard clients.mayChangeAddress(login.user) else { return .overQuota }
    try await store.bind(
      binding, to: id, in: NodeSession(node: node, session: requester.session), by: login)
    return .done
  }
}

extension Query {
  /// The kind of query, for the log: nothing of what a device sent.
  fileprivate var name: String {
    switch self {
    case .claim: "claim"
    case .register: "new"
    case .account: "login"
    case .start, .begin: "stream"
    case .makeForum: "new forum"
    case .deleteForum: "del"
    case .post: "message"
    case .truncate, .truncation: "truncate"
    case .acknowledge: "ack"
    case .push: "push"
    case .vouch, .revoke, .exists: "vouch"
    case .leave: "leave"
    case .join: "join"
    case .vouchers, .voucherPage: "vouchers"
    case .find, .search: "search"
    case .file: "file"
    }
  }
}
