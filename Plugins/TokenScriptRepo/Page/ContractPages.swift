internal import Ethereum
internal import HTTPProtocol
internal import Routing
internal import Threading
internal import TokenScriptReading

/// Responds to `/contracts/<chain>/<address>`.
struct ContractPages: Sendable {
  /// The state of the service.
  let repository: Repository
  /// The threads that make pages.
  let threads: ThreadPool

  /// Responds with the page about a contract.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404, 410, or 503 if too many requests wait; ``SystemError`` if no thread
  ///   can be started.
  func response(to request: Request, _ parameters: RouteParameters) async throws -> Response {
    let origin = try Origin(parameters)
    let (index, explorers) = (repository.index.value, repository.configuration.explorers)
    // On this machine the host can't be another's word.
    let base =
      repository.base(for: request) ?? (request.isLocal ? repository.origin(of: request) : nil)
    let page = try await threads.run(
      for: request.origin.client, orRefuseWith: "too many pages are being made"
    ) { () -> (html: String, isGone: Bool)? in
      ContractPage(origin, in: index, base: base, explorers: explorers)
        .map { ($0.html, $0.isGone) }
    }
    guard let page else { throw RepositoryResponder.absent(isGone: false) }
    return Response(page.isGone ? .gone : .ok, page: page.html, .contract)
  }
}
