internal import Budgets
internal import Cryptography
internal import Ethereum
internal import Formats
internal import Observability
internal import Platform
internal import Routing
internal import ServiceKit

/// An Ethereum account whose holder has signed in, once.
struct WalletProof: Sendable {
  let address: EthereumAddress
  let chain: ChainID
  /// The nonce, which is good until its end, and only once.
  let nonce: String
  let end: Timestamp
  /// The network of who showed it.
  let network: ClientNetwork?
}

/// The secret that logins by wallets depend on can't be read. Without it nodes would refuse each other's nonces.
struct WalletSetupError: Error, CustomStringConvertible {
  let description =
    "the secret of the web push key can't be read, but logins by wallets depend on it; check the "
    + "file of that key, or set wallet = false in [msgr]"
}

/// Lets users in by their wallets (ERC-4361).
struct WalletLogins: Sendable {
  /// The time for which a nonce is good.
  private static let lifetime = Duration.seconds(300)
  /// The most times in an hour that the endpoints of chains are asked for one site.
  private static let callsPerHour = 60

  let rules: SignInRules
  private let checker: AccountChecker
  private let key: KeyedHash
  private let calls: AttemptTable
  private let context: ServiceContext

  /// Makes the logins of a service.
  ///
  /// - Parameters:
  ///   - chains: the endpoints that contracts are asked at.
  ///   - secret: a secret that all nodes share.
  /// - Throws: ``HTTPClientError`` if there is no room for connections.
  init(
    _ rules: SignInRules, _ chains: [ChainID: ChainEndpoint], _ context: ServiceContext,
    secret: [UInt8]
  ) throws {
    self.rules = rules
    self.context = context
    checker = try AccountChecker(chains)
    key = KeyedHash(key: KeyedHash(key: secret).hash(Array("wallet nonce".utf8)).bytes)
    calls = AttemptTable(span: .seconds(3600), size: 1 << 12, clock: context.clock)
  }

  /// Writes the text that a wallet is to sign; nothing of it is kept.
  func challenge(
    for address: EthereumAddress, on chain: ChainID
  ) -> (message: String, end: Timestamp) {
    let now = context.clock()
    let end = Timestamp(seconds: (now + Self.lifetime).seconds)
    let head = Hex.encode(context.randomBytes(16)) + String(end.seconds, radix: 16)
    let message = SignInMessage.text(
      for: rules, address, on: chain, statement: "Sign in.", nonce: head + seal(head), at: now,
      for: Self.lifetime)
    return (message, end)
  }

  private func seal(_ head: some StringProtocol) -> String {
    Hex.encode(key.hash(Array(head.utf8)).bytes.prefix(16))
  }

  /// The end of a nonce that this service has made, or nil for another or one that is over.
  private func end(of nonce: String) -> Timestamp? {
    let head = nonce.dropLast(32)
    // Hashes are compared, so that the time tells nothing of the seal.
    let given = key.hash(Array(nonce.suffix(32).utf8))
    guard key.hash(Array(seal(head).utf8)) == given,
      let seconds = Int64(head.dropFirst(32), radix: 16),
      Timestamp(seconds: seconds) > context.clock()
    else { return nil }
    return Timestamp(seconds: seconds)
  }

  /// Reads and checks what a wallet has signed.
  ///
  /// - Throws: `.forbidden` if anything is wrong, `.chainFails`, `.tooMany`.
  func proof(
    _ text: String, _ signature: String, from network: ClientNetwork?
  ) async throws(RequestRefusal) -> WalletProof {
    let message: SignInMessage
    let proof: WalletProof
    do throws(SignInRefusal) {
      message = try SignInMessage(parsing: Array(text.utf8))
      let chain = try rules.check(message, nonce: message.nonce, at: context.clock())
      guard let end = end(of: message.nonce) else { throw .nonce }
      proof = WalletProof(
        address: message.address, chain: chain, nonce: message.nonce, end: end, network: network)
    } catch { throw refusal(error.rawValue, network) }
    guard signature.hasPrefix("0x"), let bytes = Hex.decode(signature.utf8.dropFirst(2)) else {
      throw refusal("the signature is not 0x and hexadecimal digits", network)
    }
    let verdict = await checker.evaluate(
      bytes, of: message.hash, by: proof.address, on: proof.chain, from: network
    ) { [calls] in calls.count(network?.siteKey, upTo: Self.callsPerHour) == nil }
    switch verdict {
    case .key, .contract: return proof
    case .wrong: throw refusal("the signature is not the account's", network)
    case .unknown: throw .chainFails
    case .tooMany: throw .tooMany(retryAfter: 3600)
    }
  }

  private func refusal(_ reason: String, _ network: ClientNetwork?) -> RequestRefusal {
    context.log.info(
      "wallet refused", ["reason": reason, "client": network?.description ?? "local"])
    return .forbidden
  }
}

// Requests of users who have wallets; only below `/msgr`.
extension MsgrRoutes {
  /// Registers the requests, if there are logins by wallets.
  func registerWallets(on router: inout Router) {
    guard let logins = service.wallets else { return }
    registerJSON("/wallet-challenge", in: [Self.prefix], on: &router) { request, _ in
      let fields = try FieldRequest(request).fields
      let address = try Self.address(fields, .address)
      let chain = try Self.chain(fields, logins)
      let (message, end) = logins.challenge(for: address, on: chain)
      return try JSONText.of(["Message": message, "Expires": end.description])
    }
    registerJSON("/wallet-login", in: [Self.prefix], on: &router) { request, _ in
      let call = try FieldRequest(request)
      let device = try device(of: call)
      let (token, login) = try await counting(logins, call) { proof in
        try await service.login(
          proof,
          newName: { try UserName(ofNewAccount: try call.fields.text(.username), in: .username) },
          device, invitation: try call.invitation(), from: call.network)
      }
      return try JSONText.of(
        Self.response(
          to: device, ["Token": token.text, "Username": login.name.text], seen: login.seen))
    }
    registerFields("/wallet", in: [Self.prefix], on: &router) { call in
      let credentials = try call.credentials()
      let removed = call.fields.has(.remove) ? try Self.address(call.fields, .remove) : nil
      func wallets(binding proof: WalletProof?) async throws -> [String] {
        try await service.authenticator.perform(as: credentials) {
          try await service.store.wallets(of: $0, binding: proof, unbinding: removed)
        }
      }
      guard call.fields.has(.message) else { return ["Wallets": try await wallets(binding: nil)] }
      return ["Wallets": try await counting(logins, call, wallets)]
    }
    registerFields("/find", in: [Self.prefix], on: &router) { call in
      let address = try Self.address(call.fields, .address)
      let chain = try Self.chain(call.fields, logins)
      let user = try await service.find(address, on: chain, by: try call.credentials())
      return ["Username": user.text]
    }
  }

  /// Returns what a caller gives beside a token: the password, or of an account without one a wallet's signature.
  func secret(_ call: FieldRequest) async throws -> @Sendable (UserName) -> RequestCredentials {
    if let logins = service.wallets, !call.fields.has(.password), call.fields.has(.signature) {
      let proof = try await counting(logins, call) { $0 }
      return { .wallet($0, proof) }
    }
    let password = try call.fields.password()
    return { .password($0, password, from: call.network) }
  }

  /// Does something by a wallet's signature. What is forbidden counts as a failed login.
  private func counting<Value>(
    _ logins: WalletLogins, _ call: FieldRequest, _ act: (WalletProof) async throws -> Value
  ) async throws -> Value {
    let message = try call.fields.text(.message)
    let signature = try call.fields.text(.signature)
    return try await service.passwords.counting(Self.name(of: message), from: call.network) {
      try await act(try await logins.proof(message, signature, from: call.network))
    }
  }

  /// Returns a name that no account has, for a failed login by a message.
  private static func name(of message: String) -> UserName {
    let address = (try? SignInMessage(parsing: Array(message.utf8)))?.address.lowercase
    return UserName(stored: "wallet/\(address ?? "")")
  }

  /// Returns the chain that a request names, or else the first one of the service.
  private static func chain(
    _ fields: FieldValues, _ logins: WalletLogins
  ) throws(FieldError) -> ChainID {
    let number = try fields.number(.chain, in: 1...Int.max)
    let chain = number.map { ChainID(Int64($0)) } ?? logins.rules.chains.first
    guard let chain, logins.rules.chains.contains(chain) else {
      throw FieldError(.chain, "is none of the chains of this service")
    }
    return chain
  }

  private static func address(
    _ fields: FieldValues, _ field: FieldID
  ) throws(FieldError) -> EthereumAddress {
    if let address = EthereumAddress(try fields.text(field)) { return address }
    throw FieldError(field, "is no address: 0x and 40 hexadecimal digits")
  }
}
