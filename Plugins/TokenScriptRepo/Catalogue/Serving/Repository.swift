internal import Configuration
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import ServiceKit
internal import Platform

/// The state of the service, which its requests and its work in the background share.
final class Repository: Sendable {
  /// The section `[tokenscript]`.
  let configuration: TokenScriptConfiguration
  /// The program's parts that the service uses.
  let context: ServiceContext
  /// The service's part of the store.
  let store: ContractStore
  /// The host names of the service.
  let hosts: [String]
  /// The header fields of responses.
  let headers: ResponseHeaders
  /// The index in service.
  let index = AtomicReference(ContractIndex.empty)
  /// The checks in service, for files that clients submit.
  let verification = AtomicReference(FileVerification())
  /// The service's log.
  let log: Log
  /// Returns the present time.
  let clock: @Sendable () -> Timestamp

  /// Makes the state before the first index.
  init(_ context: ServiceContext, _ configuration: TokenScriptConfiguration) {
    self.configuration = configuration
    self.context = context
    store = ContractStore(context.store, usersPerAddress: configuration.usersPerAddress)
    hosts = context.hosts.map(\.description)
    headers = ResponseHeaders(
      dependsOnClient: !configuration.clients.isEmpty,
      takesFiles: configuration.publicationPolicy != .off)
    log = context.log
    clock = context.clock
  }

  /// Returns the server's URL as seen from outside; a foreign `Host` is not repeated.
  func base(for request: Request) -> String? {
    if let publicURL = context.publicURL { return publicURL }
    return hosts.contains(request.head.host) ? origin(of: request) : nil
  }

  /// Returns the server's URL as seen from outside.
  ///
  /// - Throws: ``HTTPError`` with status 404 if it isn't known.
  func knownBase(for request: Request) throws(HTTPError) -> String {
    guard let base = base(for: request) else {
      throw HTTPError(.notFound, "the server's public URL is not configured")
    }
    return base
  }

  /// Returns the URL of the server as the client has named it.
  func origin(of request: Request) -> String {
    "\(request.origin.isSecure ? "https" : "http")://\(request.head.authority.lowercased())"
  }
}
