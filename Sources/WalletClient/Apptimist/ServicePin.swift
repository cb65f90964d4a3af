public import ApptimistProtocol
public import HTTPClient
internal import HTTPProtocol

/// The service that an app trusts: its keys, and the versions of the protocol that may be spoken with it.
public struct ServicePin: Sendable, Hashable {
  /// The versions that a device speaks with a service.
  public enum Versions: Sendable, Hashable {
    /// Version 1 alone.
    case version1
    /// Version 2, and version 1 if the service takes no other.
    case either
    /// Version 2 alone, as the service is known to speak it.
    case version2
  }

  /// The service's keys.
  public let identity: ServiceIdentity
  /// The versions.
  public internal(set) var versions: Versions

  /// Pins a service.
  ///
  /// - Parameters:
  ///   - identity: the service's keys.
  ///   - versions: the versions; an app whose service speaks version 2 pins that.
  public init(_ identity: ServiceIdentity, versions: Versions = .version2) {
    self.identity = identity
    self.versions = versions
  }

  /// Pins a service by its own document. Only its signed part rules version 1 out.
  public init(_ document: ServiceDocument) {
    let isSigned = document.versionsSignature != nil
    let speaksVersion2 = document.versions.contains(Int(Version2.number))
    self.init(document.identity, versions: isSigned && speaksVersion2 ? .version2 : .either)
  }

  /// Asks a service for its keys, at `service.json` below its path.
  ///
  /// This is for development, and to look at the keys once. An app is shipped with them: only TLS tells who responds
  /// here.
  ///
  /// - Parameters:
  ///   - url: the address of the service's WebSocket.
  ///   - client: sends the request.
  /// - Throws: `HTTPClientError`, ``ServicePinError``.
  public static func fetch(from url: WebSocketURL, client: WebClient) async throws -> ServicePin {
    ServicePin(try await document(from: url, client: client))
  }

  /// Asks a service for its document, as ``fetch(from:client:)`` does.
  public static func document(
    from url: WebSocketURL, client: WebClient
  ) async throws -> ServiceDocument {
    let response = try await client.send(OutgoingRequest(.get, "\(url.site)/service.json"))
    guard response.status == .ok else { throw ServicePinError.notThere(response.status.code) }
    let document: ServiceDocument
    do throws(ServiceDocumentError) {
      document = try ServiceDocument(json: response.body)
    } catch { throw ServicePinError.malformed }
    guard document.versions.contains(where: [Int(PDU.version), Int(Version2.number)].contains)
    else { throw ServicePinError.otherVersions }
    return document
  }
}

extension WebSocketURL {
  /// The address of the service's pages, without a slash at its end.
  var site: String {
    var path = path
    while path.hasSuffix("/") { path.removeLast() }
    return "\(isSecure ? "https" : "http")://\(authority)\(path)"
  }
}

/// A reason for which a service's keys could not be fetched.
public enum ServicePinError: Error, Sendable, Hashable {
  /// The server responded with this status.
  case notThere(UInt16)
  /// The response has no keys, or keys that don't belong together.
  case malformed
  /// The service speaks no version of the protocol that this library knows.
  case otherVersions
}

extension ServicePinError: CustomStringConvertible {
  /// The reason, for people.
  public var description: String {
    switch self {
    case .notThere(let status): "the service does not show its keys (status \(status))"
    case .malformed: "the service shows no valid keys"
    case .otherVersions: "the service speaks other versions of the protocol"
    }
  }
}
