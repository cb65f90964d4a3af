internal import Cryptography
public import Ethereum
internal import FoundationEssentials
internal import HTTPProtocol
internal import Formats

/// A link or the text of a QR code that names a contract, as AlphaWallet and the TokenScript viewer read them.
///
/// Reading one makes no request. A link that leads anywhere else is refused.
public struct TokenLink: Sendable, Equatable {
  /// The form of a link.
  public enum Kind: String, Sendable {
    /// An order that somebody has signed, as bytes in base64url at a host of AlphaWallet.
    case magic
    /// A link to the TokenScript viewer.
    case viewer
    /// `ethereum:…` (EIP-681).
    case payment = "eip681"
    /// A contract's address alone.
    case address
    /// The URL of a file of the repository.
    case repository
  }

  /// The reason why a text is no link that a wallet may follow.
  public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason in words, which may quote the link.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The longest link, in bytes. No QR code holds more than 4 KiB.
  static let lengthLimit = 8192

  /// The form of the link.
  public let kind: Kind
  /// The chain, or nil if the link names none.
  public private(set) var chain: ChainID?
  /// The contract.
  public private(set) var contract: EthereumAddress
  /// The tokens, by their decimal numbers or as the viewer's link names them.
  public private(set) var tokenIDs: [String] = []
  /// The identifier of the script at the viewer, or nil for the first one.
  public private(set) var scriptID: String?
  /// The name of the card to open, or nil.
  public private(set) var card: String?
  /// The identifier of the origin in the script, or nil.
  public private(set) var originID: String?
  /// The URL of the repository's file, or nil if the link names none.
  public private(set) var url: String?
  /// The version that ``url`` names, or nil.
  public private(set) var namespace: TokenScriptNamespace?
  /// The signer that ``url`` names, or nil.
  public private(set) var signer: String?

  private init(_ kind: Kind, _ contract: EthereumAddress, on chain: ChainID?) {
    self.kind = kind
    self.contract = contract
    self.chain = chain
  }

  /// Reads an address and, unless that is nil, the chain's number.
  private init(
    _ kind: Kind, named contract: some StringProtocol, on chain: (some StringProtocol)?
  ) throws(Refusal) {
    guard let address = EthereumAddress(String(contract)), address != EthereumAddress() else {
      throw Refusal("expected a contract’s address, 0x and 40 hexadecimal digits")
    }
    self.init(kind, address, on: chain.flatMap { ChainID($0) })
    guard chain == nil || self.chain != nil else {
      throw Refusal("expected the chain’s number, from 1")
    }
  }

  private init(_ kind: Kind, _ place: TokenScriptLocation, at url: String) {
    self.init(kind, place.contract, on: place.chain)
    self.url = url
    namespace = place.namespace
    signer = place.signer
  }

  /// Reads a link.
  ///
  /// - Parameters:
  ///   - text: the link.
  ///   - repository: the URL of the repository whose files links may name, without a slash at its end, or nil.
  /// - Throws: ``Refusal``.
  public init(_ text: String, repository: String? = nil) throws(Refusal) {
    guard text.utf8.count <= Self.lengthLimit else {
      throw Refusal("it is longer than \(Self.lengthLimit) bytes")
    }
    try self.init(text, repository, isWrapped: false)
  }

  private init(_ text: String, _ repository: String?, isWrapped: Bool) throws(Refusal) {
    if text.lowercased().hasPrefix("0x") {
      try self.init(.address, named: text, on: String?.none)
      return
    }
    if let scheme = text.firstIndex(of: ":"), text[..<scheme].lowercased() == "ethereum" {
      try self.init(payment: text[text.index(after: scheme)...], on: nil)
      return
    }
    let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    guard let url = WebURL(String(parts.first ?? ""), schemes: ["http", "https", "awallet"]) else {
      throw Refusal("it is neither an address nor a link that names a contract")
    }
    let parameters = try Self.parameters(url.query, parts.count > 1 ? String(parts[1]) : nil)
    let chain = url.scheme == "https" && url.port == nil ? Self.chain(of: url.host) : nil
    if let wrapper = Self.wrapper(url, isAlphaWallets: chain != nil) {
      guard !isWrapped else { throw Refusal("it is a link in a link in a link") }
      try self.init(parameters[wrapper] ?? "", repository, isWrapped: true)
    } else if let repository, let place = TokenScriptLocation(text, at: repository) {
      self.init(.repository, place, at: text)
    } else if url.scheme == "https", url.port == nil, Self.viewers.contains(url.host),
      url.path == "/"
    {
      try self.init(viewer: parameters, repository)
    } else if let chain, url.path.hasPrefix("/ethereum:") {
      let query = url.query.map { "?\($0)" } ?? ""
      try self.init(payment: (url.path + query).dropFirst("/ethereum:".count), on: chain)
    } else if let chain, parameters.isEmpty {
      try self.init(magic: url.path.dropFirst(), on: chain)
    } else {
      throw Refusal("a link to \(url.host)\(url.path) names no contract for a wallet")
    }
  }

  /// Returns the parameter that holds another link, or nil for a link of its own.
  private static func wrapper(_ url: WebURL, isAlphaWallets: Bool) -> String? {
    if isAlphaWallets, url.path.lowercased() == "/openurl" { return "url" }
    if url.scheme == "awallet", url.host == "openurl" { return "q" }
    return nil
  }

  // MARK: The viewer's links

  private static let viewers: Set = ["viewer.tokenscript.org", "viewer-staging.tokenscript.org"]

  private init(viewer parameters: [String: String], _ repository: String?) throws(Refusal) {
    guard parameters["emulator"] == nil else {
      throw Refusal("emulator: no wallet asks a developer’s computer")
    }
    var links: [TokenLink] = []
    if let url = parameters["tokenscriptUrl"] {
      guard let repository, let place = TokenScriptLocation(url, at: repository) else {
        throw Refusal("tokenscriptUrl: only the repository’s own files are opened")
      }
      links.append(TokenLink(.viewer, place, at: url))
    }
    var scripts = Set([parameters["scriptId"]].compactMap(\.self))
    if let id = parameters["tsId"] {
      let parts = id.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
      links.append(
        try TokenLink(.viewer, named: parts.count > 1 ? parts[1] : "", on: parts.first ?? ""))
      if parts.count > 2 { scripts.insert(String(parts[2])) }
    }
    if parameters["chain"] != nil || parameters["contract"] != nil {
      let chain = parameters["chain"] ?? ""
      let contract = parameters["contract"] ?? ""
      links.append(try TokenLink(.viewer, named: contract, on: chain))
    }
    guard var link = links.first else { throw Refusal("the link to the viewer names no contract") }
    let chains = Set(links.compactMap(\.chain))
    guard Set(links.map(\.contract)).count == 1, chains.count <= 1, scripts.count <= 1 else {
      throw Refusal("it names two contracts or scripts")
    }
    link.chain = chains.first
    link.scriptID = scripts.first
    link.card = parameters["card"]
    link.originID = parameters["originId"]
    // AlphaWallet's word for a contract without single tokens.
    if let token = parameters["tokenId"], token != "ERC20" { link.tokenIDs = [token] }
    self = link
  }

  // MARK: EIP-681

  /// Reads what follows `ethereum:`; with a function the address is the contract's, and the function is ignored.
  private init(payment text: Substring, on host: ChainID?) throws(Refusal) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let call = (parts.first ?? "").split(
      separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let target = (call.first ?? "").split(separator: "@", omittingEmptySubsequences: false)
    guard (1...2).contains(target.count) else { throw Refusal("ethereum: expected one @") }
    let name = target[0].hasPrefix("pay-") ? target[0].dropFirst("pay-".count) : target[0]
    // A function's arguments are named by their types, so that there may be several of one name.
    if call.count == 1 { _ = try Self.parameters(parts.count > 1 ? String(parts[1]) : nil, nil) }
    try self.init(.payment, named: name, on: target.count > 1 ? target[1] : nil)
    chain = chain ?? host
  }

  // MARK: Magic links

  /// The hosts of magic links below `aw.app`, with their chains.
  private static let hosts: [String: Int64] = [
    "arbitrum": 42161, "arbitrum-rinkeby": 421_611, "arbitrumgoerli": 421_613,
    "artis_sigma1": 246_529, "artissigma1": 246_529, "artis_tau1": 246_785, "artistau1": 246_785,
    "avalanche": 43114, "test-avalanche": 43113, "binance": 56, "test-binance": 97,
    "callisto": 820, "classic": 61, "cronos": 25, "test-cronos": 338, "fantom": 250,
    "test-fantom": 4002, "goerli": 5, "heco": 128, "test-heco": 256, "iotex": 4689,
    "iotextestnet": 4690, "klaytnbaobabtestnet": 1001, "klaytncypress": 8217, "kovan": 42,
    "okx": 66, "optimismgoerli": 420, "optimistic": 10, "optimistic-kovan": 69,
    "palm": 11_297_108_109, "palmtestnet": 11_297_108_099, "phi": 4181, "poa": 99,
    "polygon": 137, "test-polygon": 80001, "rinkeby": 4, "ropsten": 3, "sepolia": 11_155_111,
    "sokol": 77, "velas": 106, "xdai": 100,
  ]

  private static func chain(of host: String) -> ChainID? {
    if ["aw.app", "app.awallet.io"].contains(host) { return .main }
    guard host.hasSuffix(".aw.app") else { return nil }
    return hosts[String(host.dropLast(".aw.app".count))].flatMap { ChainID($0) }
  }

  /// The number of bytes of the signature at the end of an order.
  private static let signatureSize = 65
  /// The number of bytes of a contract's address.
  private static let addressSize = 20

  /// Returns the number of bytes before the contract in an order: price and time; or a prefix, a nonce, an amount and the
  /// time. The form itself takes a byte, but for the first.
  private static func prefixSize(ofForm form: UInt8) -> Int? {
    switch form {
    case 0: 8
    case 1, 2, 3: 9
    case 4: 21
    default: nil
    }
  }

  /// Reads an order. Its price, its end and its signature mean nothing here.
  private init(magic text: Substring, on chain: ChainID) throws(Refusal) {
    let refusal = Refusal("the link to AlphaWallet holds no order for tokens of a contract")
    let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
      .replacing("%3D", with: "").replacing("=", with: "")
    let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: base64 + padding), let form = data.first,
      let start = Self.prefixSize(ofForm: form)
    else { throw refusal }
    let bytes = [UInt8](data)
    let tokens = start + Self.addressSize
    let tokensSize = bytes.count - tokens - Self.signatureSize
    guard tokensSize >= 0, form != 4 || tokensSize == 0, form != 2 || tokensSize % 32 == 0,
      let contract = EthereumAddress(bytes[start..<tokens]), contract != EthereumAddress()
    else { throw refusal }
    self.init(.magic, contract, on: chain)
    guard form == 2 else { return }
    tokenIDs = stride(from: tokens, to: tokens + tokensSize, by: 32).map {
      bytes[$0..<$0 + 32].decimalNumber
    }
  }

  /// Reads the parameters behind `?` and `#`, of which each may be given once.
  private static func parameters(
    _ query: String?, _ fragment: String?
  ) throws(Refusal) -> [String: String] {
    var parameters: [String: String] = [:]
    for text in [query, fragment] {
      guard let form = URLEncodedForm(Array((text ?? "").utf8)[...]) else {
        throw Refusal("its parameters can’t be decoded")
      }
      for pair in form.pairs {
        guard parameters.updateValue(pair.value, forKey: pair.name) == nil else {
          throw Refusal("the parameter \(pair.name) is there twice")
        }
      }
    }
    return parameters
  }
}
