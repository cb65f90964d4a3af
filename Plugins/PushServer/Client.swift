internal import Cryptography
internal import FoundationEssentials
internal import Platform

/// A wallet, by the Ed25519 key that its identifier writes: `z`, which stands for base58btc, and `ed 01` and the key in it.
struct ClientKey: Hashable, Sendable {
  let key: AuthenticationPublicKey
  /// The bytes of the key, by which the store and the outbox know it.
  var bytes: [UInt8] { key.bytes }

  /// The words in front of an identifier that is written as a DID.
  static let method = "did:key:"

  private static let digits = Array(
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".utf8)

  /// Reads an identifier, with or without the words in front; anything else, and another way to write one, gives nil.
  init?(_ text: some StringProtocol) {
    let signs = text.utf8.dropFirst(text.hasPrefix(Self.method) ? Self.method.utf8.count : 0)
    // A 1 in front is a zero byte in front. No 34 bytes take more than 47 digits.
    guard (2...48).contains(signs.count), signs.first == UInt8(ascii: "z"),
      signs.dropFirst().first != UInt8(ascii: "1")
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: 34)
    for sign in signs.dropFirst() {
      guard var carry = Self.digits.firstIndex(of: sign) else { return nil }
      for index in bytes.indices.reversed() {
        carry += 58 * Int(bytes[index])
        bytes[index] = UInt8(truncatingIfNeeded: carry)
        carry >>= 8
      }
      guard carry == 0 else { return nil }
    }
    guard bytes[..<2] == [0xed, 0x01], let key = AuthenticationPublicKey(bytes[2...]) else {
      return nil
    }
    self.key = key
  }
}

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

    /// Returns whether the token is for a URL, with or without a slash at its end.
    func isFor(_ audience: String) -> Bool { aud == audience || aud == "\(audience)/" }

    /// Returns whether the token is valid at a moment. One without an end is valid for a day.
    func covers(_ seconds: Int64) -> Bool {
      let end = exp ?? iat.addingReportingOverflow(ClientTokens.life).partialValue
      return iat <= seconds + ClientTokens.leeway && end >= seconds - ClientTokens.leeway
    }
  }

  /// The seconds for which a token without an end is valid.
  private static let life: Int64 = 86_400

  /// The seconds that a client's clock may differ.
  private static let leeway: Int64 = 120

  /// The server's URL as seen from outside, without a slash at its end.
  let audience: String

  /// Returns the client that has signed a token for this server that is good now.
  ///
  /// - Parameter authorization: the header field: a token, with or without `Bearer` in front.
  /// - Returns: nil if anything is wrong with it.
  func signer(of authorization: ArraySlice<UInt8>, at now: Timestamp) -> ClientKey? {
    var token = authorization
    if token.prefix(7).elementsEqual("Bearer ".utf8) { token = token.dropFirst(7) }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.part(parts[0], as: Header.self),
      header.typ == "JWT", header.alg == "EdDSA", header.crit == nil,
      let claims = Self.part(parts[1], as: Claims.self), claims.iss.hasPrefix(ClientKey.method),
      let client = ClientKey(claims.iss), claims.isFor(audience), claims.covers(now.seconds),
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
