internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import Platform

/// The credentials that a client of another program gives.
enum GivenCredentials: Sendable {
  case nothing
  /// Credentials that can't be anybody's.
  case malformed
  case token(TokenHash)
  /// An account's name with its password, or with one of the account's tokens.
  case account(String, secret: String)

  /// Reads the value of an `Authorization` field. A scheme that isn't one of ours counts as none, since senders of Web Push
  /// send theirs.
  init(authorization value: some Collection<UInt8>) {
    if let hash = BearerToken.hash(inAuthorization: value) {
      self = .token(hash)
      return
    }
    let scheme = value.prefix { $0 != UInt8(ascii: " ") }
    guard scheme.elementsEqual("basic".utf8, by: { $0 | 0x20 == $1 }) else {
      self = .nothing
      return
    }
    guard let basic = BasicCredentials(value) else {
      self = .malformed
      return
    }
    self =
      basic.user.isEmpty
      ? .token(BearerToken.hash(ofText: Array(basic.password.utf8)))
      : .account(basic.user, secret: basic.password)
  }
}

extension GivenCredentials {
  /// Returns whether the credentials can be those of an account's token: they name the account, or none.
  fileprivate func names(_ account: UserName?) -> Bool {
    guard case .account(let name, _) = self else { return true }
    return (try? UserName(name, in: .username)) == account
  }
}

extension TopicCredential {
  /// The token; nil without one.
  var token: TokenHash? {
    switch self {
    case .session(let hash), .publisher(let hash): hash
    case .nothing, .password: nil
    }
  }
}

extension TopicService {
  /// Returns the server's address as people type it: the configured one, else that of a request.
  func baseURL(of request: Request) -> String {
    if let publicURL, !publicURL.isEmpty { return publicURL }
    let scheme = request.origin.isSecure ? "https" : "http"
    return "\(scheme)://\(request.head.authority)"
  }

  /// Finds out who publishes.
  ///
  /// The owner of a token that was shown before is remembered: whether the token is still good is checked by the transaction
  /// that publishes.
  func publisher(
    _ given: GivenCredentials, from network: ClientNetwork?
  ) async throws -> TopicRequester {
    let hash: TokenHash? =
      switch given {
      case .token(let hash): hash
      case .account(_, let secret): BearerToken.hash(ofText: Array(secret.utf8))
      case .nothing, .malformed: nil
      }
    if let hash, let (caller, credential) = rememberedTokens.value(for: hash),
      given.names(caller.account)
    {
      return TopicRequester(
        caller: caller, credential: credential, site: network.map { "\($0)" })
    }
    let requester = try await requester(given, from: network)
    if let hash = requester.credential.token {
      rememberedTokens.insert((requester.caller, requester.credential), for: hash)
    }
    return requester
  }

  /// Finds out who asks.
  ///
  /// - Throws: ``TopicRefusal``: wrong credentials are refused even where everyone may do it, so that a login can fail.
  func requester(
    _ given: GivenCredentials, from network: ClientNetwork?
  ) async throws -> TopicRequester {
    let site = network.map { "\($0)" }
    do {
      switch given {
      case .nothing: return TopicRequester(caller: .nobody, credential: .nothing, site: site)
      case .malformed: throw TopicRefusal.unauthorized
      case .token(let hash):
        return try await service.passwords.countingToken(from: network) {
          guard let found = try await requester(hash, of: nil, site: site) else {
            throw RequestRefusal.forbidden
          }
          return found
        }
      case .account(let text, let secret):
        let name = try UserName(text, in: .username)
        let hash = BearerToken.hash(ofText: Array(secret.utf8))
        if hash != .none, let found = try await requester(hash, of: name, site: site) {
          return found
        }
        return try await requester(name, try Password(secret), from: network)
      }
    } catch let refusal as RequestRefusal { throw Self.refusal(refusal) } catch is FieldError {
      throw TopicRefusal.unauthorized
    }
  }

  /// Finds the account of a password, which the store must have still: what was verified lately is known from memory.
  private func requester(
    _ name: UserName, _ password: Password, from network: ClientNetwork?
  ) async throws -> TopicRequester {
    let credentials = RequestCredentials.password(name, password, from: network)
    return try await service.authenticator.perform(as: credentials) { caller in
      _ = try await service.store.name(of: caller)
      guard case .password(_, let hash) = caller else { throw RequestRefusal.forbidden }
      return TopicRequester(
        caller: .account(name), credential: .password(name, hash: hash.text),
        site: network.map { "\($0)" })
    }
  }

  private static func refusal(_ refusal: RequestRefusal) -> any Error {
    switch refusal {
    case .forbidden: TopicRefusal.unauthorized
    case .tooMany(let seconds): TopicRefusal.tooManyFailures(retryAfter: seconds)
    case .busy: TopicRefusal.busy
    default: refusal
    }
  }

  /// Finds the publisher or the session of a token.
  ///
  /// - Parameter name: the account whose token it has to be; nil for any.
  /// - Returns: nil if there is none.
  private func requester(
    _ hash: TokenHash, of name: UserName?, site: String?
  ) async throws -> TopicRequester? {
    if let (token, _) = try await service.store.publisher(hash) {
      guard name == nil || token.owner == name else { return nil }
      return TopicRequester(
        caller: .publisher(token), credential: .publisher(hash), site: site)
    }
    guard let session = try await service.store.boundToken(hash),
      name == nil || session.name == name
    else { return nil }
    return TopicRequester(
      caller: .account(session.name), credential: .session(hash), site: site)
  }
}
