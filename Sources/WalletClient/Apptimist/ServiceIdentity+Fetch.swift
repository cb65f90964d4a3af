public import ApptimistProtocol
public import HTTPClient
internal import HTTPProtocol

extension ServiceIdentity {
  /// Asks a service for its keys, at `service.json` below its path.
  ///
  /// For development, and to look at them once: an app is shipped with the keys, for whoever answers here could be
  /// anyone unless TLS says who.
  ///
  /// - Parameters:
  ///   - url: where the service's WebSocket is.
  ///   - client: sends the request.
  /// - Throws: `HTTPClientError`, ``ServiceIdentityError``.
  public static func fetch(from url: WebSocketURL, client: HTTPClient) async throws
    -> ServiceIdentity
  {
    var path = url.path
    while path.hasSuffix("/") { path.removeLast() }
    let answer = try await client.send(
      OutgoingRequest(
        .get, "\(url.isSecure ? "https" : "http")://\(url.authority)\(path)/service.json"))
    guard answer.status == .ok else { throw ServiceIdentityError.notThere(answer.status.code) }
    let document: ServiceDocument
    do throws(ServiceDocumentError) {
      document = try ServiceDocument(json: answer.body)
    } catch { throw ServiceIdentityError.malformed }
    guard document.versions.contains(Int(PDU.version)) else {
      throw ServiceIdentityError.otherVersions
    }
    return document.identity
  }
}

/// Why a service's keys could not be had.
public enum ServiceIdentityError: Error, Sendable, Hashable {
  /// The server answered with this status.
  case notThere(UInt16)
  /// What it gives are no keys, or they don't belong together.
  case malformed
  /// It speaks versions of the protocol that this library doesn't.
  case otherVersions
}

extension ServiceIdentityError: CustomStringConvertible {
  /// What failed, for people.
  public var description: String {
    switch self {
    case .notThere(let status): "the service does not show its keys (status \(status))"
    case .malformed: "what the service shows are no keys"
    case .otherVersions: "the service speaks other versions of the protocol"
    }
  }
}
