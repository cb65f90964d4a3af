internal import Ethereum
internal import Formats
internal import Platform
internal import ServiceKit

extension MessageService {
  /// Makes an account and binds the device.
  ///
  /// - Parameter invitation: an invitation, which counts only if one is needed.
  func register(
    _ name: UserName, _ password: Password, _ device: DeviceLogin, invitation: InvitationHash?,
    from network: ClientNetwork?
  ) async throws -> BearerToken {
    do {
      try refuseAccountsWithoutRoom()
      try registrations.begin(in: network)
      var isCounted = false
      defer { if !isCounted { registrations.refund(in: network) } }
      // Both are looked up before, as the hash of a password takes long, and again when the account is stored. Without an
      // invitation nobody learns which names are taken, and with one no more of them than the network makes accounts.
      let used = signup == .invite ? invitation : nil
      if signup == .invite {
        guard let used else { throw RequestRefusal.badInvitation }
        let isGood = try await store.isGood(used)
        // A guess counts as an account.
        isCounted = !isGood
        guard isGood else { throw RequestRefusal.badInvitation }
      }
      isCounted = try await store.passwordHash(of: name) != nil
      guard !isCounted else { throw RequestRefusal.forbidden }
      let hash = try await passwords.hash(password, for: network)
      let token = BearerToken(randomBytes(32))
      isCounted = true
      end(
        try await store.register(
          name, hash, site: network?.site, invitation: used, device: (device, token.hash)))
      passwords.remember(password, of: name, hash, in: network)
      return token
    } catch {
      refusals.record(error, .registration, of: name, from: network)
      throw error
    }
  }

  /// Binds the device to the account.
  func login(
    _ credentials: RequestCredentials, _ device: DeviceLogin
  ) async throws -> (token: BearerToken, login: StoredLogin) {
    var credentials = credentials
    if case .password(let name, let password, let network, _) = credentials {
      credentials = .password(name, password, from: network, on: device.device)
    }
    let token = BearerToken(randomBytes(32))
    let login = try await authenticator.perform(as: credentials) { caller in
      try await store.login(caller, device: device, token: token.hash)
    }
    end(login.ended)
    return (token, login)
  }

  /// Ends the token and unbinds its device.
  func logout(_ credentials: RequestCredentials) async throws {
    end(try await authenticator.perform(as: credentials, store.logout))
  }

  /// Deletes the account, whose secret is needed even beside a token.
  func delete(_ credentials: RequestCredentials, by secret: (UserName) -> RequestCredentials)
    async throws
  {
    let name = try await name(by: credentials)
    end(try await authenticator.perform(as: secret(name), store.delete))
  }

  /// Returns the name of a caller whose secret is asked for as well.
  private func name(by credentials: RequestCredentials) async throws -> UserName {
    if case .password(let name, _, _, _) = credentials { return name }
    return try await authenticator.perform(as: credentials, store.name)
  }

  /// Changes the password, or gives one, for a secret that is checked even beside a token, and ends every other session.
  func changePassword(
    _ credentials: RequestCredentials, by secret: (UserName) -> RequestCredentials,
    to new: Password,
    in network: ClientNetwork?
  ) async throws {
    let name = try await name(by: credentials)
    let token: TokenHash? = if case .token(let hash, _) = credentials { hash } else { nil }
    let ended = try await authenticator.perform(as: secret(name)) { caller in
      let hash = try await passwords.hash(new, for: network)
      let ended = try await store.changePassword(to: hash, by: caller, keeping: token)
      passwords.remember(new, of: name, hash, in: network)
      return ended
    }
    end(ended)
  }

  /// Returns the caller's sessions, the newest first, after ending one of them if it is named.
  func sessions(
    of credentials: RequestCredentials, ending session: String?
  ) async throws -> [SessionSummary] {
    try await authenticator.perform(as: credentials) { caller in
      guard let session else {
        return try await store.sessions(of: caller).map { SessionSummary($0, seenBy: caller) }
      }
      let (ended, others) = try await store.sessions(of: caller, ending: session)
      end(ended)
      return others.map { SessionSummary($0, seenBy: caller) }
    }
  }
}

/// A session as its user sees it. The members' names are those in JSON.
struct SessionSummary: Sendable, Encodable {
  let Session: String
  let Device: String
  let Kind: Msgr.Session.Kind
  let Created: String
  let Used: String
  let Current: Bool

  /// Describes a session to its user, or without one to the operator.
  init(_ session: Msgr.Session, seenBy caller: Caller?) {
    Session = session.name
    Device = session.deviceName
    Kind = session.kind
    Created = session.created.description
    Used = session.used.description
    Current = if case .token(let token) = caller { token.hash == session.token } else { false }
  }
}

extension MessageService {
  /// Logs in the user whose wallet has signed, or makes an account by the rules of registrations.
  ///
  /// - Parameters:
  ///   - newName: reads the name of a new account; asked only for one.
  ///   - invitation: an invitation, which counts only if one is needed.
  func login(
    _ proof: WalletProof, newName: () throws -> UserName, _ device: DeviceLogin,
    invitation: InvitationHash?, from network: ClientNetwork?
  ) async throws -> (token: BearerToken, login: StoredLogin) {
    let token = BearerToken(randomBytes(32))
    var name: UserName?
    if try await store.owner(of: proof) == nil {
      name = try newName()
      guard signup != .closed else { throw RequestRefusal.noSignup }
      guard signup == .open || invitation != nil else { throw RequestRefusal.badInvitation }
      try refuseAccountsWithoutRoom()
      try registrations.begin(in: network)
    }
    do {
      let login = try await store.login(
        proof, orAs: name, invitation: signup == .invite ? invitation : nil,
        device: (device, token.hash))
      end(login.ended)
      return (token, login)
    } catch {
      guard let name else { throw error }
      refusals.record(error, .registration, of: name, from: network)
      // Nobody learns more of the taken names than the network makes accounts, or guesses more invitations.
      let refusal = error as? RequestRefusal
      if refusal != .forbidden, refusal != .badInvitation { registrations.refund(in: network) }
      throw error
    }
  }

  /// Returns the user of an address on a chain.
  func find(
    _ address: EthereumAddress, on chain: ChainID, by credentials: RequestCredentials
  ) async throws -> UserName {
    try await authenticator.perform(as: credentials) { caller in
      try await countingRefusals(of: caller) {
        try await store.find(address, on: chain, by: caller)
      }
    }
  }
}
