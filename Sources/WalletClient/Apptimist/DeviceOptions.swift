public import ApptimistProtocol
public import Cryptography
public import HTTPClient

internal import HTTPProtocol

/// The times and limits of a ``Device``.
public struct DeviceOptions: Sendable {
  /// The most messages that the service looks back when the device logs in, or zero for all that it has.
  public var history: UInt16 = 0
  /// True if every login closes version 1 to the account, for ever: to be set once all devices of the app's users speak
  /// version 2.
  public var closesVersion1 = false
  /// The longest duration of a request, from the call on, through all reconnections.
  public var requestTimeout: Duration = .seconds(60)
  /// The longest duration of a login, from the handshake on.
  public var joinTimeout: Duration = .seconds(30)
  /// The longest first pause before another attempt. Each further pause is twice as long.
  public var retryDelay: Duration = .milliseconds(500)
  /// The longest pause before another attempt.
  public var longestRetryDelay: Duration = .seconds(60)
  /// The bytes of messages that may wait to be read before the service is asked to pause.
  public var streamBuffer = 1 << 20
  /// The longest data of a message or a file that is accepted, in bytes, without its box.
  public var dataLimit = 1 << 20
  /// The time-outs and limits of the connection.
  public var webSocket = WebSocketOptions()

  /// Makes the default options.
  public init() {}
}

/// The two key pairs of a user or a forum, whose identity is the public encryption key.
///
/// The pairs are made on the device and never leave it. An app keeps them where the system keeps secrets. A user who
/// loses them loses the account.
public struct DeviceKeys: Sendable {
  /// The pair for boxes (X25519).
  public let encryption: EncryptionKeyPair
  /// The pair for signatures (Ed25519).
  public let authentication: AuthenticationKeyPair

  /// Makes keys of existing pairs.
  ///
  /// - Parameters:
  ///   - encryption: the pair for boxes.
  ///   - authentication: the pair for signatures.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    self.encryption = encryption
    self.authentication = authentication
  }

  /// Makes new pairs.
  public static func generate() -> DeviceKeys {
    DeviceKeys(encryption: .generate(), authentication: .generate())
  }

  /// The nonce that an ID token for the account must have: the app asks its OpenID Connect issuer for a token with it.
  public var tokenNonce: String { Version2.tokenNonce(user, authentication.publicKey) }

  /// The user or forum that the pairs belong to.
  public var user: EncryptionPublicKey { encryption.publicKey }
}

/// The service that an app trusts: its keys, and the versions of the protocol that may be spoken with it.
public struct ServicePin: Sendable, Hashable {
  /// The versions that a device speaks with a service.
  public enum Versions: Sendable, Hashable {
    /// Version 1 alone.
    case version1
    /// Version 2, and version 1 if the service speaks no other.
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

  /// Fetches a service's keys, from `service.json` below its path.
  ///
  /// This is for development, and to look at the keys once. An app is shipped with them: here only TLS
  /// authenticates the service.
  ///
  /// - Parameters:
  ///   - url: the address of the service's WebSocket.
  ///   - client: sends the request.
  /// - Throws: `HTTPClientError`, ``ServicePinError``.
  public static func fetch(from url: WebSocketURL, client: WebClient) async throws -> ServicePin {
    ServicePin(try await document(from: url, client: client))
  }

  /// Fetches a service's document, as ``fetch(from:client:)`` does.
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
