internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Routing
internal import Threading
internal import TokenScriptReading

/// Responds to `/contracts/<chain>/<address>`.
struct ContractPages: Sendable {
  /// The requests for files, which know the server's URL and the index.
  let responder: RepositoryResponder
  /// The pages about contracts elsewhere that the configuration names, with `{address}` in them.
  let explorers: [ChainID: String]
  /// The threads that make pages.
  let threads: ThreadPool

  /// Responds with the page about a contract.
  ///
  /// - Throws: ``HTTPError`` with status 400, 404, 410, or 503 if too many requests wait; ``SystemError`` if no thread
  ///   can be started.
  func response(to request: Request, _ parameters: RouteParameters) async throws -> Response {
    guard let contract = EthereumAddress(utf8: parameters["address"]) else {
      throw HTTPError(.badRequest, "an address is 0x and 40 hexadecimal digits")
    }
    let chain = try FileQuery.chain(parameters["chain"])
    let index = responder.index.value
    // On this machine the host can't be another's word.
    let base =
      responder.base(for: request) ?? (request.isLocal ? responder.origin(of: request) : nil)
    let page = try await threads.run(
      for: request.origin.client, orRefuseWith: "too many pages are being made"
    ) { [explorers] () -> (html: String, isGone: Bool)? in
      ContractPage(contract, on: chain, in: index, base: base, explorers: explorers)
        .map { ($0.html, $0.isGone) }
    }
    guard let page else { throw RepositoryResponder.absent(isGone: false) }
    var response = Response(
      page.isGone ? .gone : .ok, type: "text/html; charset=utf-8", text: page.html)
    response.fields.append(contentsOf: ResponseHeaders.page(.contract))
    return response
  }
}
