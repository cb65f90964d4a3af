internal import COpenSSL
internal import Foundation
internal import TestSupport
internal import Platform

/// A stand-in for Apple's push service, which checks requests and responds by a script.
package final class APNsStandIn: Sendable {
  /// A push that was taken, or refused by script.
  package struct Received: Sendable {
    package let device: String
    package let apnsID: String
    package let expiration: Int
    package let token: String?
    package let connection: Int
    package let payload: [UInt8]
  }

  private struct State {
    var received: [Received] = []
    var faults: [String] = []
    var script: [StandInResponse]
  }

  private final class Responder: Sendable {
    let state: Lock<State>
    let publicKey: String?
    let otherwise: StandInResponse

    init(_ script: [StandInResponse], otherwise: StandInResponse, publicKey: String?) {
      state = Lock(State(script: script))
      self.otherwise = otherwise
      self.publicKey = publicKey
    }

    func respond(to request: StandInRequest) -> StandInResponse {
      let faults = faults(of: request)
      return state.withLock { state in
        state.faults += faults
        state.received.append(
          Received(
            device: String(request[":path"]?.dropFirst("/3/device/".count) ?? ""),
            apnsID: request["apns-id"] ?? "",
            expiration: Int(request["apns-expiration"] ?? "") ?? 0,
            token: request["authorization"].map { String($0.dropFirst("bearer ".count)) },
            connection: request.connection, payload: request.body))
        return state.script.isEmpty ? otherwise : state.script.removeFirst()
      }
    }

    private func faults(of request: StandInRequest) -> [String] {
      var faults: [String] = []
      func demand(_ isGood: Bool, _ what: String) { if !isGood { faults.append(what) } }
      demand(request[":method"] == "POST", "method")
      let path = request[":path"] ?? ""
      let token = path.dropFirst("/3/device/".count)
      demand(path.hasPrefix("/3/device/") && token.count == 64, "path \(path)")
      demand(token.allSatisfy { $0.isHexDigit && !$0.isUppercase }, "device")
      demand(request["apns-topic"] == "com.example.app", "topic")
      demand(request["apns-push-type"] == "alert", "type")
      demand(request["apns-priority"] == "10", "priority")
      demand(UUID(uuidString: request["apns-id"] ?? "") != nil, "apns-id")
      demand(Int(request["apns-expiration"] ?? "") != nil, "expiration")
      demand(request.body.count <= 4096, "size")
      let json = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
      demand(json?["aps"] != nil, "payload")
      if let publicKey {
        demand(Self.isGood(request["authorization"] ?? "", publicKey), "token")
      } else {
        demand(request["authorization"] == nil, "a token beside a certificate")
      }
      return faults
    }

    /// Returns whether a token is in the form that Apple demands, with its signature checked by OpenSSL.
    static func isGood(_ authorization: String, _ publicKey: String) -> Bool {
      let parts = authorization.dropFirst("bearer ".count).split(separator: ".")
      guard authorization.hasPrefix("bearer "), parts.count == 3,
        let head = object(parts[0]), let claims = object(parts[1]), let signature = bytes(parts[2])
      else { return false }
      return head["alg"] as? String == "ES256" && head["kid"] as? String == "KEYID12345"
        && claims["iss"] as? String == "TEAMID1234" && claims["iat"] is Int
        && verifies(signature, Array("\(parts[0]).\(parts[1])".utf8), publicKey)
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
      guard !text.contains("="), !text.contains("+"), !text.contains("/") else { return nil }
      let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
      let padding = String(repeating: "=", count: (4 - base64.count % 4) % 4)
      return Data(base64Encoded: base64 + padding).map(Array.init)
    }

    private static func object(_ text: Substring) -> [String: Any]? {
      bytes(text).flatMap { try? JSONSerialization.jsonObject(with: Data($0)) as? [String: Any] }
    }

    private static func verifies(
      _ signature: [UInt8], _ message: [UInt8], _ publicKey: String
    ) -> Bool {
      guard signature.count == 64, let pem = FileManager.default.contents(atPath: publicKey) else {
        return false
      }
      let key = Array(pem).withUnsafeBytes { bytes in
        let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
        defer { BIO_free(bio) }
        return PEM_read_bio_PUBKEY(bio, nil, nil, nil)
      }
      defer { EVP_PKEY_free(key) }
      let parsed = ECDSA_SIG_new()
      defer { ECDSA_SIG_free(parsed) }
      ECDSA_SIG_set0(
        parsed, BN_bin2bn(Array(signature[..<32]), 32, nil),
        BN_bin2bn(Array(signature[32...]), 32, nil))
      var encoded: UnsafeMutablePointer<UInt8>?
      let length = i2d_ECDSA_SIG(parsed, &encoded)
      defer { CRYPTO_free(encoded, "", 0) }
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
        && EVP_DigestVerify(context, encoded, Int(length), message, message.count) == 1
    }
  }

  private let responder: Responder
  private let server: HTTP2StandIn
  package let url: String

  /// - Parameters:
  ///   - script: the first responses, in order.
  ///   - usesTokens: whether tokens are demanded; else a client certificate.
  package init(
    _ script: [StandInResponse] = [], otherwise: StandInResponse = .respond(200),
    usesTokens: Bool = true
  ) throws {
    let certificates = try TestCertificates.shared.get()
    let responder = Responder(
      script, otherwise: otherwise, publicKey: usesTokens ? certificates.tokenPublicKey : nil)
    self.responder = responder
    server = try HTTP2StandIn(
      certificate: certificates.server.certificate, key: certificates.server.key,
      clientCA: usesTokens ? nil : certificates.authority.certificate
    ) { responder.respond(to: $0) }
    url = server.url
  }

  /// The pushes that came, in order.
  package var received: [Received] { responder.state.withLock { $0.received } }
  /// The faults of those pushes.
  package var faults: [String] { responder.state.withLock { $0.faults } }
  /// The number of connections that came.
  package var connections: Int { server.connections }
  /// The largest number of pushes under way at once.
  package var mostStreams: Int { server.mostStreams }
}
