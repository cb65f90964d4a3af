internal import Cryptography
internal import FoundationEssentials
internal import Platform

/// The rules of the tokens that wallets sign their requests with (RFC 7519), by Ed25519 (RFC 8037), which cjose lacks.
struct ClientTokens: Sendable {
  private struct Header: Decodable {
    let typ: String
    let alg: String
    let crit: [String]?
  }

  private struct Claims: Decodable {
    let iss: String
    let aud: String
    let iat: Int64
    let exp: Int64?
  }

  /// The seconds that a client's clock may differ.
  private static let leeway: Int64 = 120

  /// The server's URL as seen from outside, without a slash at its end.
  let audience: String

  /// Returns the client that has signed a token for this server that is good now.
  ///
  /// - Parameters:
  ///   - authorization: the header field: a token, with or without `Bearer` in front.
  ///   - now: the time.
  /// - Returns: nil if anything is wrong with it.
  func signer(of authorization: ArraySlice<UInt8>, at now: Timestamp) -> ClientKey? {
    var token = authorization
    if token.prefix(7).elementsEqual("Bearer ".utf8) { token = token.dropFirst(7) }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.part(parts[0], as: Header.self),
      header.typ == "JWT", header.alg == "EdDSA", header.crit == nil,
      let claims = Self.part(parts[1], as: Claims.self), claims.iss.hasPrefix(ClientKey.method),
      let client = ClientKey(claims.iss),
      (claims.aud.hasSuffix("/") ? claims.aud.dropLast() : claims.aud[...]) == audience,
      claims.iat <= now.seconds + Self.leeway, claims.exp ?? .max >= now.seconds - Self.leeway,
      let signature = Base64URL.decode(String(decoding: parts[2], as: UTF8.self))
        .flatMap({ Signature($0) }),
      client.key.verifies(signature, over: Array(token[..<parts[1].endIndex]))
    else { return nil }
    return client
  }

  private static func part<Value: Decodable>(
    _ text: ArraySlice<UInt8>, as type: Value.Type
  ) -> Value? {
    Base64URL.decode(String(decoding: text, as: UTF8.self))
      .flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
  }
}
