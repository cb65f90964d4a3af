internal import Cryptography
internal import Ethereum
internal import FoundationEssentials
public import HTTPClient
public import HTTPProtocol
public import Observability
public import Platform
public import XMLSecurity

/// The TokenScript user agent, which downloads the TokenScripts of contracts, verifies them, keeps them in files, and
/// updates them.
///
/// Call ``fetch(_:)`` whenever the user comes to a contract: when the wallet starts, finds tokens, scans an address or
/// is handed a link. The file at the report's path is then the newest verified one.
///
/// ```swift
/// let agent = try TokenScriptAgent(repository: "https://repo.tokenscript.org", cache: "scripts")
/// let namespaces = ["2019/05", "2019/04"].compactMap { TokenScriptNamespace($0) }
/// let report = try await agent.fetch(
///   TokenScriptRequest(
///     address: "0x63cCEF733a093E5Bd773b41C96D3eCE361464942", network: .main,
///     namespaces: namespaces))
/// ```
///
/// With ``ContractScripts`` the places that the contract names itself come first, and the repository if none of them has a
/// file that can be taken.
///
/// The cache is `<cache>/<network>/<address>.xml`, a file for each contract even if one TokenScript describes
/// several. A file's time is the repository's `Last-Modified`. A file gets there only if it is signed, is in the
/// namespace asked for, and names the contract on the network as an origin. ``TokenScriptExchange`` makes the decisions.
public struct TokenScriptAgent: Sendable {
  /// The longest file that is accepted, in bytes.
  public static let sizeLimit = 8 << 20

  /// A check of a file against the schema of its version: returns the problem in words, or nil if there is none, or no
  /// schema. It may block.
  public typealias SchemaCheck =
    @Sendable (_ file: [UInt8], _ version: TokenScriptNamespace) -> String?

  /// The location of files of the repository, whatever its URL: a wallet has one, which may move.
  private static let repositoryLocation = "repository"

  private let repository: String
  private let cache: TokenScriptCache
  private let identity: WalletIdentity
  private let inspector: TokenScriptInspector
  private let contracts: ContractScripts?
  private let reportsRejections: Bool
  private let client: WebClient
  /// The client for hosts that contracts name.
  private let foreignClient: WebClient
  private let log: Log
  private let clock: @Sendable () -> Timestamp

  /// Makes an agent with connections of its own.
  ///
  /// - Parameters:
  ///   - repository: the repository's URL, `http` or `https`.
  ///   - cache: the folder of the files, made with the first one.
  ///   - identity: the wallet's name and version for the repository.
  ///   - roots: the roots that signers' certificates are checked against, or nil to check none. An untrusted
  ///     certificate is reported and no reason to reject a file.
  ///   - contracts: the way to the files that contracts name themselves, or nil for the repository only.
  ///   - schemaCheck: checks files against their schemas, or nil for no check.
  ///   - reportsRejections: whether each rejected file is reported to the repository.
  ///   - options: times and certificates. The limit of the body is always ``sizeLimit``.
  ///   - log: gets a line for each update that was rejected.
  ///   - clock: returns the time.
  /// - Throws: `.outOfResources`.
  public init(
    repository: String, cache: String, identity: WalletIdentity = WalletIdentity(),
    roots: TrustStore? = nil, contracts: ContractScripts? = nil, schemaCheck: SchemaCheck? = nil,
    reportsRejections: Bool = false,
    options: HTTPClientOptions = HTTPClientOptions(),
    log: Log = Log(level: .warning), clock: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) throws(HTTPClientError) {
    var repository = repository
    while repository.hasSuffix("/") { repository.removeLast() }
    self.repository = repository
    self.cache = TokenScriptCache(folder: cache)
    self.identity = identity
    inspector = TokenScriptInspector(roots: roots, schemaCheck: schemaCheck)
    self.reportsRejections = reportsRejections
    var options = options
    options.bodyLimit = Self.sizeLimit
    client = try WebClient(options)
    self.contracts = contracts
    options.reach = .publicAddresses
    foreignClient = contracts == nil ? client : try WebClient(options)
    self.log = log
    self.clock = clock
  }

  /// Downloads or updates the TokenScript of a contract.
  ///
  /// - Parameter request: the contract, and the namespaces that the wallet understands.
  /// - Returns: the outcome. A server that fails or lies is an outcome, not an error.
  /// - Throws: ``TokenScriptCacheError`` if the cache can't be read or written; `CancellationError`;
  ///   ``HTTPClientError`` with `.invalidRequest` if the repository's URL is none.
  public func fetch(_ request: TokenScriptRequest) async throws -> TokenScriptReport {
    if EthereumAddress.checksum(of: request.spelling) == .wrong {
      log.warning("wrong address checksum", ["address": request.spelling])
    }
    let entry = try cache.entry(for: request)
    var attempts: [TokenScriptReport.Attempt] = []
    // The place among the contract's that the local file is from.
    var home: Int?
    // An endpoint that fails doesn't move a file.
    var isStillNamed = false
    if let contracts {
      let uris = try await uris(of: request, contracts)
      if uris == nil { attempts.append(Self.attempt("the chain’s endpoint has not answered")) }
      home = entry?.location.flatMap { uris?.firstIndex(of: $0) }
      isStillNamed = uris == nil ? entry?.location != nil : home != nil
      for (index, uri) in (uris ?? []).enumerated() {
        guard index < ContractScripts.limit else {
          attempts.append(
            Self.attempt("not requested; only the first \(ContractScripts.limit) are", uri))
          continue
        }
        let location: ContractScripts.Location
        do throws(ContractScripts.Refusal) { location = try contracts.location(uri) } catch {
          attempts.append(Self.attempt(error.reason, uri))
          continue
        }
        // Those behind it are asked where it has nothing for once, which is no reason to go back to an older file.
        let isAtHome = home.map { $0 <= index } ?? false
        let report = try await fetch(
          request, at: location, replacing: entry, isAtHome: isAtHome)
        attempts += report.attempts
        switch report.outcome {
        case .stored, .unchanged: return located(report, request, attempts, location)
        // An old copy somewhere is no reason to stop.
        case .ownFile, .choices, .unreadable, .absent, .invalid, .failed: continue
        }
      }
    }
    let report = try await fetch(
      request, at: nil, replacing: entry,
      isAtHome: entry?.location == Self.repositoryLocation || isStillNamed)
    return located(report, request, attempts + report.attempts)
  }

  private static func attempt(_ result: String, _ uri: String? = nil) -> TokenScriptReport.Attempt {
    TokenScriptReport.Attempt(namespace: nil, result: result, rejection: nil, uri: uri)
  }

  /// Requests a contract's URIs from the chain.
  ///
  /// - Returns: nil if the endpoint has failed.
  private func uris(
    of request: TokenScriptRequest, _ contracts: ContractScripts
  ) async throws -> [String]? {
    do throws(HTTPClientError) {
      let batch = ContractScripts.batch(for: request.address)
      let response = try await client.send(OutgoingRequest(contracts.endpoint, json: batch.body))
      return ContractScripts.uris(in: response.body, of: request.address)
    } catch {
      if error.code == .cancelled { throw CancellationError() }
      return nil
    }
  }

  /// Downloads or updates from a location that the contract names, or from the repository.
  ///
  /// - Parameters:
  ///   - location: the location, or nil for the repository.
  ///   - entry: the local file, or nil if there is none.
  ///   - isAtHome: whether the local file, if it was downloaded, has its time from there.
  private func fetch(
    _ request: TokenScriptRequest, at location: ContractScripts.Location?,
    replacing entry: TokenScriptCache.Entry?, isAtHome: Bool
  ) async throws -> TokenScriptReport {
    let time = clock()
    let now = HTTPDate(time.seconds)
    var local = entry?.file
    if entry?.location != nil { local?.provenance = isAtHome ? .downloaded : .downloadedElsewhere }
    var exchange = TokenScriptExchange(
      namespaces: location == nil ? request.namespaces : [], local: local, now: now)
    var file: [UInt8] = []
    var proof: TokenScriptReport.Proof?
    var action = exchange.start()
    while true {
      switch action {
      case .request(let namespace, let date):
        let (response, body) = try await send(
          request, in: namespace, at: location, modifiedSince: date, now: now)
        file = body
        action = exchange.received(response)
      case .inspect(let namespace):
        let result = Result { () throws(TokenScriptRejection) in
          proof = try location?.proof(of: file)
          return try inspector.inspect(file, for: request, in: namespace, now: time)
        }
        var remark = ""
        if case .failure(let rejection) = result {
          let url = location?.url ?? request.url(in: namespace, of: repository)
          if entry != nil {
            log.warning("update rejected", ["url": url, "reason": rejection.message])
          }
          if location == nil, reportsRejections {
            remark = "; " + (try await report(rejection, of: file, at: url))
          }
        }
        action = exchange.inspected(result, remark: remark)
      case .store(let modified, var report):
        try cache.store(
          file, for: request, modified: modified, at: location?.uri ?? Self.repositoryLocation,
          replacing: entry)
        report.proof = proof
        return report.naming(location?.uri)
      case .finish(let report): return report.naming(location?.uri)
      }
    }
  }

  /// Reports to the repository that its file was rejected.
  ///
  /// - Returns: the repository's response in words.
  private func report(
    _ rejection: TokenScriptRejection, of file: [UInt8], at url: String
  ) async throws -> String {
    let isNamed = ![.malformed, .signer].contains(rejection.code)
    let body = try JSONEncoder().encode([
      "url": url, "sha256": SHA256.hash(file).hex,
      "reason": isNamed ? rejection.code.rawValue : "other",
      "detail": String(String.UnicodeScalarView(rejection.message.unicodeScalars.prefix(200))),
    ])
    do throws(HTTPClientError) {
      let response = try await client.send(
        OutgoingRequest("\(repository)/tokenscript/report", json: Array(body)))
      guard response.status == .accepted,
        let receipt = try? JSONDecoder().decode([String: Bool].self, from: Data(response.body))
      else { return "not reported (\(response.status.code))" }
      return receipt["known"] == true
        ? "reported: the repository has this file"
        : "reported: the repository has no such file, so it was changed on the way"
    } catch {
      if error.code == .cancelled { throw CancellationError() }
      return "not reported: \(error)"
    }
  }

  private func located(
    _ report: TokenScriptReport, _ request: TokenScriptRequest,
    _ attempts: [TokenScriptReport.Attempt], _ location: ContractScripts.Location? = nil
  ) -> TokenScriptReport {
    var report = report
    report.attempts = attempts
    report.source = location?.uri
    report.path = cache.path(for: request)
    return report
  }

  private func send(
    _ request: TokenScriptRequest, in namespace: TokenScriptNamespace?,
    at location: ContractScripts.Location?, modifiedSince date: HTTPDate?, now: HTTPDate
  ) async throws -> (TokenScriptResponse, body: [UInt8]) {
    // The wallet describes itself to the repository that its user has chosen, and to no other host.
    var fields = location == nil ? identity.fields : HeaderFields()
    if let date { fields.append(.ifModifiedSince, date.text) }
    var url = location?.url ?? request.url(in: namespace, of: repository)
    var redirects = 0
    while true {
      let outgoing = OutgoingRequest(.get, url, fields: fields)
      do throws(HTTPClientError) {
        let response = try await (location?.isForeign == true ? foreignClient : client).send(
          outgoing)
        guard TokenScriptRedirect.codes.contains(response.status.code) else {
          return (TokenScriptResponse(response, now: now), response.body)
        }
        redirects += 1
        guard redirects <= TokenScriptRedirect.limit else {
          return (.failure("more than \(TokenScriptRedirect.limit) redirects"), [])
        }
        switch TokenScriptRedirect(from: url, to: response.fields.first(.location)) {
        case .followed(let target): url = target
        case .refused(let reason):
          return (.failure("\(reason) (\(response.status.code))"), [])
        }
      } catch {
        switch error.code {
        case .cancelled: throw CancellationError()
        case .invalidRequest where location == nil && redirects == 0, .outOfResources: throw error
        default: return (.failure("\(error)"), [])
        }
      }
    }
  }
}

extension TokenScriptReport {
  /// Returns the report with a contract's URI in its attempts.
  fileprivate func naming(_ uri: String?) -> TokenScriptReport {
    guard let uri else { return self }
    var report = self
    for index in report.attempts.indices { report.attempts[index].uri = uri }
    return report
  }
}
