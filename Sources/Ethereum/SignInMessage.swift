internal import Cryptography
public import Platform

/// A message by which the holder of an Ethereum account signs in (ERC-4361), read strictly.
public struct SignInMessage: Sendable {
  /// The longest message, in bytes.
  public static let limit = 4096

  /// The message, as it is signed.
  public let bytes: [UInt8]
  /// The scheme in front of the domain, or nil.
  public let scheme: String?
  /// The host, with its port, that asks.
  public let domain: String
  /// The account.
  public let address: EthereumAddress
  /// The resource that is signed in to.
  public let uri: String
  /// The version; there is none but 1.
  public let version: String
  /// The chain; nil for a number that begins with 0 or is too large.
  public let chain: ChainID?
  /// The nonce.
  public let nonce: String
  /// The moment at which the message was made.
  public let issued: Timestamp
  /// The moment at which it ends, or nil.
  public let expires: Timestamp?
  /// The moment at which it begins to be good, or nil.
  public let notBefore: Timestamp?

  /// Makes the message that a wallet is asked to sign.
  ///
  /// - Parameters:
  ///   - rules: the rules that the message is to pass.
  ///   - address: the account.
  ///   - chain: the chain.
  ///   - statement: a sentence for people.
  ///   - nonce: the nonce.
  ///   - issued: the present moment.
  ///   - lifetime: the time for which the message is good.
  public static func text(
    for rules: SignInRules, _ address: EthereumAddress, on chain: ChainID, statement: String,
    nonce: String, at issued: Timestamp, for lifetime: Duration
  ) -> String {
    let (begin, end) = (issued.dateTime ?? "", (issued + lifetime).dateTime ?? "")
    return """
      \(rules.domain) wants you to sign in with your Ethereum account:
      \(address.checksummed)

      \(statement)

      URI: \(rules.uri)
      Version: 1
      Chain ID: \(chain)
      Nonce: \(nonce)
      Issued At: \(begin)
      Expiration Time: \(end)
      """
  }

  /// Reads a message.
  ///
  /// - Parameter bytes: the message, and nothing behind it.
  /// - Throws: ``SignInRefusal/malformed`` or ``SignInRefusal/address``.
  public init(parsing bytes: [UInt8]) throws(SignInRefusal) {
    let isLine = { (byte: UInt8) in (0x20...0x7e).contains(byte) || byte == 0x0a }
    guard bytes.count <= Self.limit, bytes.allSatisfy(isLine) else { throw .malformed }
    var lines = String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)[...]
    let head = " wants you to sign in with your Ethereum account:"
    guard lines.count >= 9, var origin = lines.popFirst(), origin.hasSuffix(head),
      let account = lines.popFirst(), lines.popFirst() == "", let statement = lines.popFirst(),
      statement.isEmpty || lines.popFirst() == "", Syntax.isStatement(statement)
    else { throw .malformed }
    origin.removeLast(head.count)
    let scheme = origin.firstRange(of: "://").map { origin[..<$0.lowerBound] }
    if let scheme { origin.removeFirst(scheme.count + 3) }
    guard scheme.map(Syntax.isScheme) ?? true, !origin.isEmpty, Syntax.isAuthority(origin),
      let address = EthereumAddress(String(account)), account.hasPrefix("0x")
    else { throw .malformed }
    guard address.checksummed == account else { throw .address }
    func field(_ name: String) -> Substring? {
      guard let line = lines.first, line.hasPrefix(name) else { return nil }
      lines.removeFirst()
      return line.dropFirst(name.count)
    }
    guard let uri = field("URI: "), Syntax.isURI(uri), let version = field("Version: "),
      let chain = field("Chain ID: "), Syntax.isNumber(chain),
      let nonce = field("Nonce: "), nonce.count >= 8, Syntax.isAlphanumeric(nonce),
      let issued = field("Issued At: ").flatMap(Syntax.moment)
    else { throw .malformed }
    let (expires, notBefore) = (field("Expiration Time: "), field("Not Before: "))
    (self.expires, self.notBefore) = (
      expires.flatMap(Syntax.moment), notBefore.flatMap(Syntax.moment)
    )
    guard (expires == nil) == (self.expires == nil), (notBefore == nil) == (self.notBefore == nil),
      field("Request ID: ").map(Syntax.isSegment) ?? true
    else { throw .malformed }
    if let rest = field("Resources:") {
      guard rest.isEmpty else { throw .malformed }
      while let resource = field("- ") { guard Syntax.isURI(resource) else { throw .malformed } }
    }
    guard lines.isEmpty else { throw .malformed }
    self.bytes = bytes
    self.scheme = scheme.map { String($0) }
    domain = String(origin)
    self.address = address
    self.uri = String(uri)
    self.version = String(version)
    self.chain = ChainID(chain)
    self.nonce = String(nonce)
    self.issued = issued
  }

  /// The hash that a wallet signs (EIP-191).
  public var hash: [UInt8] { WalletSignature.hash(bytes) }
}

/// The rules by which a message signs somebody in.
public struct SignInRules: Sendable {
  /// The difference of two clocks that is passed over.
  private static let leeway = Duration.seconds(60)

  /// The host, with its port, that a message must name.
  public var domain: String
  /// The URI that a message must name.
  public var uri: String
  /// The chains that a message may name.
  public var chains: [ChainID]
  /// The time for which a message is good.
  public var maxAge: Duration

  /// Makes rules.
  public init(domain: String, uri: String, chains: [ChainID], maxAge: Duration) {
    (self.domain, self.uri, self.chains, self.maxAge) = (domain, uri, chains, maxAge)
  }

  /// Judges a message by everything but its signature.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - nonce: the nonce that it must have.
  ///   - now: the present moment.
  /// - Returns: the chain.
  /// - Throws: ``SignInRefusal``.
  public func check(
    _ message: SignInMessage, nonce: String, at now: Timestamp
  ) throws(SignInRefusal) -> ChainID {
    // All are ASCII, so that equal texts have equal bytes.
    guard message.domain == domain else { throw .domain }
    guard message.uri == uri, message.scheme.map({ uri.hasPrefix("\($0):") }) ?? true else {
      throw .uri
    }
    guard message.version == "1" else { throw .version }
    guard let chain = message.chain, chains.contains(chain) else { throw .chain }
    guard message.nonce == nonce else { throw .nonce }
    guard message.issued + maxAge >= now - Self.leeway else { throw .tooOld }
    guard message.issued <= now + Self.leeway else { throw .future }
    guard message.expires.map({ now - Self.leeway < $0 }) ?? true else { throw .expired }
    guard message.notBefore.map({ $0 <= now + Self.leeway }) ?? true else { throw .early }
    return chain
  }
}
