internal import ApptimistProtocol
internal import Ethereum
internal import Cryptography
internal import HTTPProtocol
internal import Routing
internal import Platform

/// Judges the holders of Ethereum accounts by messages that their wallets have signed for the keys of an account (ERC-4361).
struct SignInClient: Sendable {
  private let rules: SignInRules
  private let checker: AccountChecker
  private let clock: @Sendable () -> Timestamp

  /// Makes a client that asks chains by a checker.
  init(
    _ rules: SignInRules, _ checker: AccountChecker, clock: @escaping @Sendable () -> Timestamp
  ) { (self.rules, self.checker, self.clock) = (rules, checker, clock) }

  /// The identity of an account (CAIP-10). Its address is in lower case, as devices have no Keccak.
  private static func uid(of address: EthereumAddress, on chain: ChainID) -> String {
    "eip155:\(chain):\(address.lowercase)"
  }

  /// Judges somebody by a token: the length of the message in two bytes, the message, and its signature.
  ///
  /// - Parameter mayAsk: says whether a chain's endpoint may be asked.
  func evaluate(
    _ applicant: Applicant, mayAsk: @Sendable () -> Bool
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
      switch await checker.judge(
        signature, of: message.hash, by: message.address, on: chain, from: applicant.network,
        mayAsk: mayAsk)
      {
      case .key: return .signed(.key)
      case .contract: return .signed(.contract)
      case .wrong: return .refused(reason: "the signature is wrong")
      case .unknown(let reason): return .unavailable(reason: "chain \(chain): \(reason)")
      case .tooMany: return .tooManyQuestions
      }
    } catch { return .refused(reason: error.rawValue) }
  }

  /// The text that a wallet is to sign, and the identity that it proves.
  private struct Answer: Encodable {
    let message: String
    let uid: String
  }

  /// Writes the text that a wallet is to sign for an account's keys; nothing of it is kept.
  ///
  /// - Parameter body: JSON with `address`, `chain`, `encryptionKey` and `authenticationKey`.
  func message(for body: [UInt8]) throws -> Response {
    func fault(_ field: String, _ expected: String) throws -> Response {
      try Response(.badRequest, json: ["error": "\(field): expected \(expected)", "field": field])
    }
    let fields = Claims(parsing: body)
    guard let address = fields?.text("address").flatMap({ EthereumAddress($0) }) else {
      return try fault("address", "0x and 40 hexadecimal digits")
    }
    let number = fields?.number("chain").flatMap { Int64(exactly: $0) }
    guard let chain = number.flatMap({ ChainID($0) }), rules.chains.contains(chain) else {
      return try fault("chain", "one of \(rules.chains)")
    }
    guard let key = fields?.text("encryptionKey").flatMap({ EncryptionPublicKey(hex: $0) }) else {
      return try fault("encryptionKey", "64 hexadecimal digits")
    }
    let authenticationKey = fields?.text("authenticationKey")
    guard let signer = authenticationKey.flatMap({ AuthenticationPublicKey(hex: $0) }) else {
      return try fault("authenticationKey", "64 hexadecimal digits")
    }
    let text = SignInMessage.text(
      for: rules, address, on: chain,
      statement: "Make an account with the keys that the nonce names.",
      nonce: Version2.tokenNonce(key, signer), at: clock(), for: .seconds(600))
    return try Response(.ok, json: Answer(message: text, uid: Self.uid(of: address, on: chain)))
  }
}
