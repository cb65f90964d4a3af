internal import Ethereum
internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol
internal import Platform

/// A contract, and the keys that may stand for it.
struct ChainRequest: Sendable {
  /// The contract.
  let origin: Origin
  /// The keys, the most important ones first.
  var keys: [EthereumAddress]
}

/// Asks a chain's endpoint about one contract.
///
/// The roles of keys and the registry have requests of their own: what strangers do there keeps nothing else from being
/// known.
struct ChainClient: Sendable {
  /// The number of keys of a contract that are asked about.
  static let keyLimit = 16
  /// The number of a registry's entries that are kept of a contract.
  static let entryLimit = 32

  /// The reason why nothing is known.
  struct Failure: Error {
    let reason: String
    /// True if the endpoint didn't respond, which no contract can bring about.
    let isEndpoints: Bool
  }

  private typealias Call = (contract: EthereumAddress, call: FunctionCall)

  /// Sends the requests.
  let client: WebClient
  /// The endpoint of the contract's chain.
  let endpoint: ChainEndpoint
  /// The contract and the keys.
  let question: ChainRequest
  /// The last answer, if there is one; what the endpoint fails to tell stays as it was.
  let last: ChainAnswer?

  /// Asks for all.
  ///
  /// - Throws: ``Failure`` if the endpoint fails to tell the owner, so that the last answer stays, with its age.
  func answer(at time: Timestamp) async throws(Failure) -> ChainAnswer {
    let contract = question.origin.contract
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

  /// Asks which keys have a role that stands for the contract.
  private func roles() async -> [EthereumAddress: Bool] {
    let old = last?.roles ?? [:]
    var keys: [EthereumAddress] = []
    for key in question.keys + old.filter(\.value).keys.sorted(by: { $0.hex < $1.hex })
    where !keys.contains(key) && keys.count < Self.keyLimit {
      keys.append(key)
    }
    let calls = keys.flatMap { FunctionCall.hasRoles($0) }.map { (question.origin.contract, $0) }
    guard !calls.isEmpty, let outcomes = try? await call(calls) else { return old }
    var roles: [EthereumAddress: Bool] = [:]
    for (index, key) in keys.enumerated() {
      let own = outcomes[2 * index..<2 * index + 2]
      let hasRole = own.contains { $0.data?.isTrue == true }
      roles[key] = !hasRole && own.contains { $0.failure != nil } ? old[key] : hasRole
    }
    return roles
  }

  /// Chooses the registry's entries to keep, the contract's own first, and asks who holds these.
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
  /// The calls that ask for a contract's own answers.
  static let calls: [FunctionCall] = [.owner, .scriptURI, .name]

  /// Reads the outcomes of ``calls``.
  ///
  /// - Parameters:
  ///   - last: the last answer, whose parts stay if the endpoint failed to tell them.
  /// - Returns: nil if the endpoint has failed to tell the owner.
  init?(_ outcomes: [CallBatch.Outcome], after last: ChainAnswer?, time: Timestamp) {
    guard outcomes.count == Self.calls.count, outcomes[0].failure == nil else { return nil }
    let name = outcomes[2].data?.text.flatMap { $0.utf8.count <= 256 ? $0 : nil }
    let shown = name?.shown(limit: 256)
    self.init(
      owner: outcomes[0].data?.address,
      name: outcomes[2].failure == nil ? shown?.isEmpty == true ? nil : shown : last?.name,
      scripts: outcomes[1].failure == nil
        ? outcomes[1].data?.strings ?? [] : last?.scripts ?? [], time: time)
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

  /// The reason why nothing is known, or nil.
  fileprivate var failure: String? {
    guard case .failed(let reason) = self else { return nil }
    return reason
  }
}
