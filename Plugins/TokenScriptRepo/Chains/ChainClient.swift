internal import Cryptography
internal import Ethereum
internal import HTTPClient
internal import HTTPProtocol
internal import Platform
internal import WalletClient

/// A contract, and the keys that may stand for it.
struct ChainRequest: Sendable {
  /// The contract.
  let origin: OriginContract
  /// The keys, the most important ones first.
  var keys: [EthereumAddress]
}

/// Queries a chain's endpoint about one contract.
///
/// The roles of keys and the registry have requests of their own, so that nothing that strangers do there can make the
/// other answers fail.
struct ChainClient: Sendable {
  /// The most keys of a contract that are looked up.
  static let keyLimit = 16
  /// The most entries of the registry that are kept for a contract.
  static let entryLimit = 32

  /// The reason why there is no answer.
  struct Failure: Error {
    let reason: String
    /// True if the endpoint didn't respond, which no contract can cause.
    let isEndpoints: Bool
  }

  private typealias Call = (contract: EthereumAddress, call: FunctionCall)

  /// Sends the requests.
  let client: WebClient
  /// The endpoint of the contract's chain.
  let endpoint: ChainEndpoint
  /// The contract and the keys.
  let request: ChainRequest
  /// The last answer, if there is one. Its parts stay where the endpoint fails to answer.
  let last: ChainAnswer?

  /// Requests everything about the contract.
  ///
  /// - Throws: ``Failure`` if the endpoint fails to return the owner. The last answer then stays, with its age.
  func answer(at time: Timestamp) async throws(Failure) -> ChainAnswer {
    let contract = request.origin.contract
    let own = try await call(ChainAnswer.calls.map { (contract, $0) })
    guard var answer = ChainAnswer(own, after: last, time: time) else {
      throw Failure(reason: own.first?.failure ?? "", isEndpoints: false)
    }
    answer.roles = await roles()
    answer.entries = last?.entries ?? []
    answer.registered = last?.registered ?? []
    guard let registry = endpoint.registry else {
      answer.entries = []
      answer.registered = []
      return answer
    }
    switch try? await call([(registry, .scriptData(of: contract))]).first {
    case .returned(let data)?:
      guard let entries = try? await entries(data.scriptEntries, of: registry) else { break }
      answer.entries = entries
      answer.registered = []
    case .none?:
      let places = try? await call([(registry, .scriptURI(of: contract))]).first
      guard let places, places.failure == nil else { break }
      answer.entries = []
      answer.registered = ChainAnswer.bounded(places.data?.strings ?? [])
    case .failed?, nil: break
    }
    return answer
  }

  /// Requests which keys have a role that makes them the contract's issuers.
  private func roles() async -> [EthereumAddress: Bool] {
    let old = last?.roles ?? [:]
    var keys: [EthereumAddress] = []
    for key in request.keys + old.filter(\.value).keys.sorted(by: { $0.hex < $1.hex })
    where !keys.contains(key) && keys.count < Self.keyLimit {
      keys.append(key)
    }
    let calls = keys.flatMap { FunctionCall.hasRoles($0) }.map { (request.origin.contract, $0) }
    guard !calls.isEmpty, let outcomes = try? await call(calls) else { return old }
    var roles: [EthereumAddress: Bool] = [:]
    for (index, key) in keys.enumerated() {
      let own = outcomes[2 * index..<2 * index + 2]
      let hasRole = own.contains { $0.data?.isTrue == true }
      roles[key] = !hasRole && own.contains { $0.failure != nil } ? old[key] : hasRole
    }
    return roles
  }

  /// Chooses the registry's entries to keep, the contract's own first, and requests the holders of those.
  private func entries(
    _ found: [ReturnData.ScriptEntry], of registry: EthereumAddress
  ) async throws(Failure) -> [ChainAnswer.Entry] {
    var tokens: Set<[UInt8]> = [[UInt8](repeating: 0, count: 32)]
    let usable = found.filter { $0.place.openable != nil && tokens.insert($0.token).inserted }
    let own = usable.filter(\.isAuthenticated).prefix(Self.entryLimit)
    let others = usable.filter { !$0.isAuthenticated }.prefix(Self.entryLimit - own.count)
    let holders = own.isEmpty ? [] : try await call(own.map { (registry, .ownerOf($0.token)) })
    return zip(own, holders).map { ChainAnswer.Entry($0, holder: $1.data?.address) }
      + others.map { ChainAnswer.Entry($0, holder: nil) }
  }

  private func call(_ calls: [Call]) async throws(Failure) -> [CallBatch.Outcome] {
    let batch = CallBatch(calls)
    let response: IncomingResponse
    do throws(HTTPClientError) {
      response = try await client.send(OutgoingRequest(endpoint.url, json: batch.body))
    } catch {
      // A contract may return more than is read.
      throw Failure(reason: "\(error.code)", isEndpoints: error.code != .tooLarge)
    }
    let outcomes = batch.outcomes(in: response.body)
    if response.status != .ok, let reason = outcomes.lazy.compactMap(\.failure).first {
      throw Failure(reason: reason, isEndpoints: true)
    }
    return outcomes
  }
}

extension ChainAnswer {
  /// The calls to the contract itself.
  static let calls: [FunctionCall] = [.owner, .scriptURI, .name]

  /// Reads the outcomes of ``calls``.
  ///
  /// - Parameters:
  ///   - last: the last answer, whose parts stay where the endpoint failed.
  /// - Returns: nil if the endpoint failed to return the owner.
  init?(_ outcomes: [CallBatch.Outcome], after last: ChainAnswer?, time: Timestamp) {
    guard outcomes.count == Self.calls.count, outcomes[0].failure == nil else { return nil }
    var scripts = last?.scripts ?? []
    if outcomes[1].failure == nil { scripts = outcomes[1].data?.strings ?? [] }
    var name = last?.name
    if outcomes[2].failure == nil { name = Self.name(outcomes[2].data?.text) }
    self.init(owner: outcomes[0].data?.address, name: name, scripts: scripts, time: time)
  }

  private static let nameLimit = 256

  /// Returns a contract's name as it is shown, or nil for none and for one that is too long.
  private static func name(_ text: String?) -> String? {
    guard let text, text.utf8.count <= nameLimit else { return nil }
    let name = text.shown(limit: nameLimit)
    return name.isEmpty ? nil : name
  }
}

extension ChainAnswer.Entry {
  fileprivate init(_ entry: ReturnData.ScriptEntry, holder: EthereumAddress?) {
    self.init(
      token: entry.tokenNumber, name: entry.name.shown(limit: 128),
      icon: entry.icon.openableIcon ?? "", place: entry.place, holder: holder?.checksummed)
  }
}

extension CallBatch.Outcome {
  fileprivate var data: ReturnData? {
    guard case .returned(let data) = self else { return nil }
    return data
  }

  /// The reason why the call has no outcome, or nil.
  fileprivate var failure: String? {
    guard case .failed(let reason) = self else { return nil }
    return reason
  }
}

/// The last answer of a chain about a contract.
struct ChainAnswer: Equatable, Sendable {
  /// An entry of ERC-7738's registry, which anybody may have made.
  struct Entry: Codable, Equatable, Sendable {
    /// The number of the entry's token in decimal digits.
    let token: String
    /// The name that its holder has given.
    let name: String
    /// The URL of its icon, or an empty text.
    let icon: String
    /// The place of the script.
    let place: String
    /// The present holder of the token if the contract's owner of then has made the entry, else nil.
    var holder: String?
  }

  /// The contract's owner (ERC-173), or nil if it has none.
  let owner: EthereumAddress?
  /// The contract's name, or nil if it has none.
  let name: String?
  /// The places of the contract's scripts, by its own answer (ERC-5169).
  let scripts: [String]
  /// The keys that were looked up, each with whether it has a role that makes it an issuer.
  var roles: [EthereumAddress: Bool]
  /// The places of the contract's scripts, by the registry's answer (ERC-7738), if it knows no entries.
  var registered: [String]
  /// The entries of the registry, in its order.
  var entries: [Entry]
  /// The time of the request.
  var time: Timestamp

  /// Makes an answer. Of a contract's places, which anybody can make, a bounded part is kept.
  init(
    owner: EthereumAddress?, name: String? = nil, scripts: [String],
    roles: [EthereumAddress: Bool] = [:], registered: [String] = [], entries: [Entry] = [],
    time: Timestamp
  ) {
    self.owner = owner
    self.name = name
    self.scripts = Self.bounded(scripts)
    self.roles = roles
    self.registered = Self.bounded(registered)
    self.entries = entries
    self.time = time
  }

  /// Returns whether the answer is the same but for its time. A missing answer equals an empty one.
  func agrees(with other: ChainAnswer?) -> Bool {
    var other = other ?? ChainAnswer(owner: nil, scripts: [], time: time)
    other.time = time
    return self == other
  }

  /// Returns whether an entry is the contract's: its owner of then has made it, and the present one still holds it.
  func isOwners(_ entry: Entry) -> Bool {
    owner.map { entry.holder == $0.checksummed } ?? false
  }

  /// Returns the proof that a file is the contract's, or nil.
  func proof(of file: TokenScriptFile) -> IssuerProof? {
    let keys = file.signer?.addresses ?? []
    if keys.contains(where: { $0 == owner || roles[$0] == true }) { return .signer }
    let named = scripts.lazy.compactMap { ContentIdentifiers.named(by: $0) }
    return named.contains { file.cids.contains($0) } ? .content : nil
  }

  /// The bytes of places that are kept of a contract.
  private static let sizeLimit = 8192

  static func bounded(_ places: [String]) -> [String] {
    var rest = sizeLimit
    return places.filter { place in
      guard isURI(place), place.utf8.count <= rest else { return false }
      rest -= place.utf8.count
      return true
    }
  }

  /// Returns whether a text can be the place of a script: visible ASCII with a scheme.
  private static func isURI(_ text: String) -> Bool {
    text.contains(":") && text.utf8.allSatisfy { (0x21..<0x7f).contains($0) }
  }
}

/// The proof that a file is its contract's own.
enum IssuerProof: Sendable {
  /// The contract's owner, deployer or administrator has signed, or has certified the signer's key.
  case signer
  /// The contract names the bytes.
  case content
}
