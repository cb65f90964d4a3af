internal import ApptimistProtocol
internal import Ethereum
internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import Routing
internal import Platform

/// Checks the holders of Ethereum accounts by messages that their wallets have signed for the keys of an account (ERC-4361).
struct SignInClient: Sendable {
  private let rules: SignInRules
  private let checker: AccountChecker
  private let clock: @Sendable () -> Timestamp

  /// Makes a client that asks chains by a checker.
  init(
    _ rules: SignInRules, _ checker: AccountChecker, clock: @escaping @Sendable () -> Timestamp
  ) {
    self.rules = rules
    self.checker = checker
    self.clock = clock
  }

  /// The identity of an account (CAIP-10). Its address is in lower case, as devices have no Keccak.
  private static func uid(of address: EthereumAddress, on chain: ChainID) -> String {
    "eip155:\(chain):\(address.lowercase)"
  }

  /// Checks somebody by a token: the length of the message in two bytes, the message, and its signature.
  ///
  /// - Parameter mayQuery: says whether a chain's endpoint may be asked.
  func evaluate(
    _ applicant: Applicant, mayQuery: @Sendable () -> Bool
  ) async -> IdentityProvider.IdentityDecision {
    let token = applicant.token
    do throws(SignInRefusal) {
      let length = token.prefix(2).reduce(0) { $0 << 8 | Int($1) }
      guard token.count >= 2 + length else { throw .malformed }
      let message = try SignInMessage(parsing: Array(token[2..<2 + length]))
      let nonce = Version2.tokenNonce(applicant.encryptionKey, applicant.authenticationKey)
      let chain = try rules.check(message, nonce: nonce, at: clock())
      guard applicant.uid.utf8.elementsEqual(Self.uid(of: message.address, on: chain).utf8) else {
        return .refused(reason: "the message's account is not the uid")
      }
      let signature = Array(token[(2 + length)...])
      switch await checker.evaluate(
        signature, of: message.hash, by: message.address, on: chain, from: applicant.network,
        mayQuery: mayQuery)
      {
      case .key: return .signed(.key)
      case .contract: return .signed(.contract)
      case .wrong: return .refused(reason: "the signature is wrong")
      case .unknown(let reason): return .unavailable(reason: "chain \(chain): \(reason)")
      case .tooMany: return .tooManyQuestions
      }
    } catch { return .refused(reason: error.rawValue) }
  }

  /// The response to a request without a signature.
  private struct SignInText: Encodable {
    let message: String
    let uid: String
  }

  /// The response to a request with one.
  private struct KnownWallet: Encodable {
    let known: Bool
  }

  /// Responds to `POST <path>/siwe`: with the text that a wallet is to sign, or, to who shows the wallet's signature of such a
  /// text, whether the wallet has an account.
  ///
  /// - Parameters:
  ///   - body: JSON with `address`, `chain`, `encryptionKey` and `authenticationKey`, or with `message` and `signature`.
  ///   - network: the client's, whose site takes turns with others at a chain's endpoint.
  ///   - isKnown: returns whether there is an account with a uid for which its wallet has signed.
  ///   - mayQuery: says whether a chain's endpoint may be asked.
  func respond(
    to body: [UInt8], from network: ClientNetwork?, isKnown: (String) async throws -> Bool,
    mayQuery: @Sendable () -> Bool
  ) async throws -> Response {
    let fields = TokenClaims(parsing: body)
    guard let signature = fields?.text("signature") else { return try text(for: fields) }
    guard let message = fields?.text("message") else {
      return try Self.fault("message", "the text that the wallet has signed")
    }
    guard signature.hasPrefix("0x"), let bytes = Hex.decode(signature.utf8.dropFirst(2)),
      !bytes.isEmpty
    else { return try Self.fault("signature", "0x and hexadecimal digits") }
    let signed: SignInMessage
    let chain: ChainID
    do throws(SignInRefusal) {
      signed = try SignInMessage(parsing: Array(message.utf8))
      chain = try rules.check(signed, nonce: signed.nonce, at: clock())
    } catch { throw HTTPError(.forbidden, error.rawValue) }
    switch await checker.evaluate(
      bytes, of: signed.hash, by: signed.address, on: chain, from: network, mayQuery: mayQuery)
    {
    case .key, .contract: break
    case .wrong: throw HTTPError(.forbidden, "the signature is wrong")
    case .unknown: throw HTTPError(.serviceUnavailable, "the chain's endpoint fails")
    case .tooMany: throw HTTPError(.tooManyRequests, retryAfter: 3600)
    }
    let uid = Self.uid(of: signed.address, on: chain)
    return try Response(.ok, json: KnownWallet(known: try await isKnown(uid)))
  }

  private static func fault(_ field: String, _ expected: String) throws -> Response {
    try Response(.badRequest, json: ["error": "\(field): expected \(expected)", "field": field])
  }

  /// Writes the text that a wallet is to sign for an account's keys; nothing of it is kept.
  private func text(for fields: TokenClaims?) throws -> Response {
    let addressText = fields?.text("address") ?? ""
    guard let address = EthereumAddress(addressText) else {
      return try Self.fault("address", "0x and 40 hexadecimal digits")
    }
    guard EthereumAddress.checksum(of: addressText.utf8) != .wrong else {
      return try Self.fault("address", "letters whose case is the checksum (ERC-55)")
    }
    let number = fields?.number("chain").flatMap { Int64(exactly: $0) }
    guard let chain = number.flatMap({ ChainID($0) }), rules.chains.contains(chain) else {
      return try Self.fault("chain", "one of \(rules.chains)")
    }
    guard let key = fields?.text("encryptionKey").flatMap({ EncryptionPublicKey(hex: $0) }) else {
      return try Self.fault("encryptionKey", "64 hexadecimal digits")
    }
    let authenticationKey = fields?.text("authenticationKey")
    guard let signer = authenticationKey.flatMap({ AuthenticationPublicKey(hex: $0) }) else {
      return try Self.fault("authenticationKey", "64 hexadecimal digits")
    }
    let text = SignInMessage.text(
      for: rules, address, on: chain,
      statement: "Make an account with the keys that the nonce names.",
      nonce: Version2.tokenNonce(key, signer), at: clock(), for: .seconds(600))
    return try Response(
      .ok, json: SignInText(message: text, uid: Self.uid(of: address, on: chain)))
  }
}
