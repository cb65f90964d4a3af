internal import Foundation
internal import TestSupport
internal import Platform

/// A stand-in for FCM and for Google's token endpoint, which checks requests and responds by two scripts.
package final class FCMStandIn: Sendable {
  /// A message that was taken, or refused by script.
  package struct Received: Sendable {
    package let device: String
    package let data: [String: String]
    package let priority: String
    package let life: String
    package let token: String
    package let body: [UInt8]
  }

  private struct State {
    var received: [Received] = []
    var faults: [String] = []
    var script: [StandInResponse]
    var grants: [StandInResponse]
    var granted: Set<String> = []
    var asked = 0
    /// The numbers of grants under way, and the most of them.
    var open = (now: 0, most: 0)
  }

  private final class Responder: Sendable {
    let state: Lock<State>
    let otherwise: StandInResponse
    let life: Int
    let audience = Lock("")

    init(
      _ script: [StandInResponse], otherwise: StandInResponse, grants: [StandInResponse],
      life: Int
    ) {
      state = Lock(State(script: script, grants: grants))
      self.otherwise = otherwise
      self.life = life
    }

    func respond(to request: StandInRequest) -> StandInResponse {
      request[":path"] == "/token" ? grant(request) : accept(request)
    }

    private func grant(_ request: StandInRequest) -> StandInResponse {
      let faults = faults(ofGrant: request)
      return state.withLock { state in
        state.faults += faults
        state.asked += 1
        if !state.grants.isEmpty { return state.grants.removeFirst() }
        let token = "ya29.\(state.asked)"
        state.granted.insert(token)
        return .respond(
          200, fields: ["content-type": "application/json"],
          body: #"{"access_token":"\#(token)","expires_in":\#(life),"token_type":"Bearer"}"#)
      }
    }

    private func accept(_ request: StandInRequest) -> StandInResponse {
      let json = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
      let message = json?["message"] as? [String: Any]
      let android = message?["android"] as? [String: Any]
      let data = message?["data"] as? [String: String]
      let authorization = request["authorization"] ?? ""
      let token = String(authorization.dropFirst("Bearer ".count))
      let life = android?["ttl"] as? String ?? ""
      return state.withLock { state in
        func demand(_ isGood: Bool, _ what: String) { if !isGood { state.faults.append(what) } }
        demand(request[":method"] == "POST", "method")
        demand(request[":path"] == "/v1/projects/wallet-1/messages:send", "path")
        demand(request["content-type"] == "application/json", "type")
        demand(authorization.hasPrefix("Bearer ") && state.granted.contains(token), "token")
        demand(Set((json ?? [:]).keys) == ["message"], "body")
        demand(Set((message ?? [:]).keys) == ["token", "data", "android"], "message")
        demand(Set((android ?? [:]).keys) == ["priority", "ttl"], "android")
        demand(["HIGH", "NORMAL"].contains(android?["priority"] as? String), "priority")
        demand(life.hasSuffix("s") && (0...2_419_200).contains(Int(life.dropLast()) ?? -1), "ttl")
        let size = (data ?? [:]).reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        demand((1...4096).contains(size), "size \(size)")
        state.received.append(
          Received(
            device: message?["token"] as? String ?? "", data: data ?? [:],
            priority: android?["priority"] as? String ?? "", life: life, token: token,
            body: request.body))
        return state.script.isEmpty ? otherwise : state.script.removeFirst()
      }
    }

    private func faults(ofGrant request: StandInRequest) -> [String] {
      var faults: [String] = []
      func demand(_ isGood: Bool, _ what: String) { if !isGood { faults.append("grant: \(what)") } }
      demand(request[":method"] == "POST", "method")
      demand(request["content-type"] == "application/x-www-form-urlencoded", "type")
      var form: [String: String] = [:]
      for pair in String(decoding: request.body, as: UTF8.self).split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
        form[parts[0]] = parts[1].removingPercentEncoding
      }
      demand(Set(form.keys) == ["grant_type", "assertion"], "form")
      demand(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer", "grant_type")
      let parts = (form["assertion"] ?? "").split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1])
      else { return faults + ["grant: assertion"] }
      demand(
        header as? [String: String] == ["alg": "RS256", "typ": "JWT", "kid": "key-1"], "header")
      demand(Set(claims.keys) == ["iss", "scope", "aud", "iat", "exp"], "claims")
      demand(claims["iss"] as? String == "push@wallet-1.iam.gserviceaccount.com", "iss")
      demand(
        claims["scope"] as? String == "https://www.googleapis.com/auth/firebase.messaging", "scope")
      demand(claims["aud"] as? String == audience.withLock { $0 }, "aud")
      let issued = claims["iat"] as? Int ?? 0
      let end = claims["exp"] as? Int ?? 0
      demand(issued > 0 && end == issued + 3600, "exp")
      demand(
        Self.verifies(Self.bytes(parts[2]) ?? [], Array("\(parts[0]).\(parts[1])".utf8)),
        "signature")
      return faults
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

    /// Returns whether a signature is RSASSA-PKCS1-v1_5 with SHA-256 by the account's key, as OpenSSL's program says.
    private static func verifies(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
      guard let certificates = try? TestCertificates.shared.get() else { return false }
      let folder = TemporaryFolder()
      try? Data(signature).write(to: URL(filePath: "\(folder.path)/signature"))
      try? Data(message).write(to: URL(filePath: "\(folder.path)/message"))
      let script = """
        openssl x509 -in \(certificates["rsa"].certificate) -pubkey -noout > key.pub
        openssl dgst -sha256 -verify key.pub -signature signature message
        """
      let outcome = try? ChildProcess.run("/bin/sh", ["-ec", script], in: folder.path)
      return outcome?.code == 0
    }
  }

  private let responder: Responder
  private let server: HTTP2StandIn
  package let url: String
  package var tokenURL: String { "\(url)/token" }

  /// - Parameters:
  ///   - script: the first responses to messages, in order.
  ///   - life: the life of a token, in seconds.
  package init(
    _ script: [StandInResponse] = [], otherwise: StandInResponse = .respond(200, body: "{}"),
    grants: [StandInResponse] = [], life: Int = 3599
  ) throws {
    let certificates = try TestCertificates.shared.get()
    let responder = Responder(script, otherwise: otherwise, grants: grants, life: life)
    self.responder = responder
    server = try HTTP2StandIn(
      certificate: certificates.server.certificate, key: certificates.server.key, clientCA: nil
    ) { responder.respond(to: $0) }
    url = server.url
    responder.audience.withLock { [url] in $0 = "\(url)/token" }
  }

  /// The messages that came, in order.
  package var received: [Received] { responder.state.withLock { $0.received } }
  /// The faults of all requests.
  package var faults: [String] { responder.state.withLock { $0.faults } }
  /// The number of times that a token was asked for.
  package var grants: Int { responder.state.withLock { $0.asked } }
  /// The number of connections that came.
  package var connections: Int { server.connections }

  /// A refusal as FCM writes it.
  package static func fault(
    _ status: Int, _ code: String?, message: String = "m", field: String? = nil,
    fields: [String: String] = [:]
  ) -> StandInResponse {
    var details: [String] = []
    if let field {
      details.append(
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","#
          + #""fieldViolations":[{"field":"\#(field)","description":"d"}]}"#)
    }
    if let code {
      details.append(
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
    }
    return .respond(
      status, fields: fields,
      body: #"{"error":{"code":\#(status),"message":"\#(message)","status":"S","details":["#
        + details.joined(separator: ",") + "]}}")
  }
}
