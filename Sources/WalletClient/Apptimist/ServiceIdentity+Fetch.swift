public import ApptimistProtocol
public import HTTPClient
internal import HTTPProtocol

extension ServiceIdentity {
  /// Asks a service for its keys, at `service.json` below its path.
  ///
  /// This is for development, and to look at the keys once. An app is shipped with them: only TLS tells who responds
  /// here.
  ///
  /// - Parameters:
  ///   - url: the address of the service's WebSocket.
  ///   - client: sends the request.
  /// - Throws: `HTTPClientError`, ``ServiceIdentityError``.
  public static func fetch(from url: WebSocketURL, client: HTTPClient) async throws
    -> ServiceIdentity
  {
    var path = url.path
    while path.hasSuffix("/") { path.removeLast() }
    let response = try await client.send(
      OutgoingRequest(
        .get, "\(url.isSecure ? "https" : "http")://\(url.authority)\(path)/service.json"))
    guard response.status == .ok else { throw ServiceIdentityError.notThere(response.status.code) }
    let document: ServiceDocument
    do throws(ServiceDocumentError) {
      document = try ServiceDocument(json: response.body)
    } catch { throw ServiceIdentityError.malformed }
    guard document.versions.contains(Int(PDU.version)) else {
      throw ServiceIdentityError.otherVersions
    }
    return document.identity
  }
}

/// A reason for which a service's keys could not be fetched.
public enum ServiceIdentityError: Error, Sendable, Hashable {
  /// The server responded with this status.
  case notThere(UInt16)
  /// The response has no keys, or keys that don't belong together.
  case malformed
  /// The service speaks no version of the protocol that this library knows.
  case otherVersions
}

extension ServiceIdentityError: CustomStringConvertible {
  /// The reason, for people.
  public var description: String {
    switch self {
    case .notThere(let status): "the service does not show its keys (status \(status))"
    case .malformed: "the service shows no valid keys"
    case .otherVersions: "the service speaks other versions of the protocol"
    }
  }
}
