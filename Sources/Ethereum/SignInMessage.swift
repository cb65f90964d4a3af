package import Configuration
public import Platform

internal import Cryptography
internal import Formats

/// A message by which the holder of an Ethereum account signs in (ERC-4361), read strictly.
public struct SignInMessage: Sendable {
  /// The longest message, in bytes.
  public static let limit = 4096

  /// The message, as it is signed.
  public let bytes: [UInt8]
  /// The scheme in front of the domain, or nil.
  public let scheme: String?
  /// The host, with its port, that requests the sign-in.
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
  /// The moment from which it is valid, or nil.
  public let notBefore: Timestamp?

  /// Makes the message that a wallet is asked to sign.
  public static func text(
    for rules: SignInRules, _ address: EthereumAddress, on chain: ChainID, statement: String,
    nonce: String, at issued: Timestamp, for lifetime: Duration
  ) -> String {
    let begin = issued.dateTime ?? ""
    let end = (issued + lifetime).dateTime ?? ""
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
    let expires = field("Expiration Time: ")
    let notBefore = field("Not Before: ")
    self.expires = expires.flatMap(Syntax.moment)
    self.notBefore = notBefore.flatMap(Syntax.moment)
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
  /// The tolerated difference of two clocks.
  private static let leeway = Duration.seconds(60)

  /// The host, with its port, that a message must name.
  public var domain: String
  /// The URI that a message must name.
  public var uri: String
  /// The chains that a message may name.
  public var chains: [ChainID]
  /// The time for which a message is valid.
  public var maxAge: Duration

  /// Makes rules.
  public init(domain: String, uri: String, chains: [ChainID], maxAge: Duration) {
    self.domain = domain
    self.uri = uri
    self.chains = chains
    self.maxAge = maxAge
  }

  /// Checks everything in a message but its signature.
  ///
  /// - Parameters:
  ///   - nonce: the nonce that it must have.
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

/// The first reason for which a message signs nobody in, in words that have nothing of the message.
public enum SignInRefusal: String, Error, Sendable {
  /// The message doesn't follow the grammar.
  case malformed = "the message is none of ERC-4361’s"
  /// The address has no checksum, or a wrong one.
  case address = "the address is not written with its checksum (ERC-55)"
  /// The domain is another.
  case domain = "the message is for another domain"
  /// The URI is another, or the scheme isn't the URI's.
  case uri = "the message is for another URI"
  /// The version isn't 1.
  case version = "the message is of another version"
  /// The chain isn't one of those that may be named.
  case chain = "the message is for a chain that isn’t configured"
  /// The nonce is another.
  case nonce = "the nonce is not the one that is expected"
  /// The message was made too long ago.
  case tooOld = "the message is too old"
  /// The message is to be made yet.
  case future = "the message is from the future"
  /// The message's end is over.
  case expired = "the message has expired"
  /// The message's beginning is to come.
  case early = "the message isn’t good yet"
}

/// The rules of RFC 3986 and RFC 3339 that a message's ABNF refers to.
enum Syntax {
  private static let unreserved = Set("-._~".utf8)
  private static let subDelimiters = Set("!$&'()*+,;=".utf8)

  static func isAlphanumeric(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { isDigit($0) || isLetter($0) }
  }

  static func isNumber(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isDigit) }

  /// Returns whether a text has only reserved and unreserved characters and blanks.
  static func isStatement(_ text: Substring) -> Bool {
    isMade(text, of: " :/?#[]@", escapes: false)
  }

  static func isSegment(_ text: Substring) -> Bool { isMade(text, of: ":@") }

  static func isScheme(_ text: Substring) -> Bool {
    text.utf8.first.map(isLetter) == true
      && text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "+-.".utf8.contains($0) }
  }

  static func isURI(_ text: Substring) -> Bool {
    guard let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]) else { return false }
    let parts = text[text.index(after: colon)...]
      .split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 1 || isMade(parts[1], of: ":@/?") else { return false }
    let path = parts[0].prefix { $0 != "?" }
    guard isMade(parts[0].dropFirst(path.count), of: ":@/?") else { return false }
    guard path.hasPrefix("//") else { return isMade(path, of: ":@/") }
    let authority = path.dropFirst(2).prefix { $0 != "/" }
    return isAuthority(authority) && isMade(path.dropFirst(2 + authority.count), of: ":@/")
  }

  /// Returns whether a text is a host, with or without user information and port.
  static func isAuthority(_ text: Substring) -> Bool {
    let at = text.lastIndex(of: "@")
    var host = at.map { text[text.index(after: $0)...] } ?? text
    guard at.map({ isMade(text[..<$0], of: ":") }) ?? true else { return false }
    if let colon = host.lastIndex(of: ":"),
      host[host.index(after: colon)...].utf8.allSatisfy(isDigit)
    {
      host = host[..<colon]
    }
    guard host.hasPrefix("["), host.hasSuffix("]") else { return isMade(host, of: "") }
    let literal = host.dropFirst().dropLast()
    guard literal.hasPrefix("v") || literal.hasPrefix("V") else {
      return literal.contains(":") && IPAddress(String(literal)) != nil
    }
    let version = literal.dropFirst().prefix { $0 != "." }
    let rest = literal.dropFirst(version.count + 2)
    return !version.isEmpty && version.allSatisfy(\.isHexDigit) && !rest.isEmpty
      && isMade(rest, of: ":", escapes: false)
  }

  /// Reads a date and time as RFC 3339 writes it.
  static func moment(_ text: Substring) -> Timestamp? {
    // XML Schema has a day's hour 24, no zone, and blanks, too.
    guard text.hasSuffix("Z") || text.dropLast(5).last.map("+-".contains) == true,
      text.dropFirst(11).prefix(2) != "24", text.count >= 20, !text.contains(" ")
    else { return nil }
    return Timestamp(dateTime: String(text))
  }

  /// Returns whether a text has only unreserved characters, delimiters within parts, escapes, and some others.
  private static func isMade(_ text: Substring, of others: String, escapes: Bool = true) -> Bool {
    var rest = text.utf8
    while let byte = rest.popFirst() {
      if isDigit(byte) || isLetter(byte) || unreserved.contains(byte) { continue }
      if subDelimiters.contains(byte) || others.utf8.contains(byte) { continue }
      guard escapes, byte == UInt8(ascii: "%"), rest.count >= 2,
        rest.prefix(2).allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
      else { return false }
      rest.removeFirst(2)
    }
    return true
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
}

extension SignInRules {
  /// Reads a service's section `siwe`, and records its faults.
  ///
  /// - Parameters:
  ///   - isUsed: whether domain and URI must be there.
  package init(_ section: ConfigurationSection, path: String, isUsed: Bool) {
    let url = section.publicURL
    self.init(
      domain: section.string("domain", default: url?.authority ?? ""),
      uri: section.string("uri", default: url.map { "\($0)\(path)" } ?? ""),
      chains: section.integers("chains", default: [1], in: 1...Int.max).compactMap {
        ChainID(Int64($0))
      },
      maxAge: section.duration(
        "max_age", default: .seconds(600), in: .seconds(1) ... .seconds(86_400)))
    guard isUsed else { return }
    for (name, value) in [("domain", domain), ("uri", uri)] where value.isEmpty {
      section.reject(name, "expected the \(name) that wallets show, or server.public_url")
    }
    if chains.isEmpty { section.reject("chains", "expected at least one chain") }
  }
}
