internal import Cryptography
internal import HTTPProtocol
internal import Routing
internal import Platform

/// The relay's word for a message: its signature over the moment and the body.
struct RelayProof: Sendable {
  private static let signatureField = FieldName("X-Ed25519-Signature")
  private static let timestampField = FieldName("X-Ed25519-Timestamp")
  private static let life = Duration.seconds(3 * 86_400)
  private static let leeway = Duration.seconds(5 * 60)
  /// The time for which a message is remembered: as long as a proof may be good, so that it is good for one push.
  static let memory = life + leeway

  private let signature: Signature
  private let timestamp: ArraySlice<UInt8>

  /// Reads the header fields.
  ///
  /// - Throws: 401 if one is missing, malformed, too old or ahead.
  init(_ head: RequestHead, at now: Timestamp) throws(HTTPError) {
    let (signature, timestamp) = (head.first(Self.signatureField), head.first(Self.timestampField))
    guard let signature, let timestamp else {
      var missing: [String: String] = [:]
      if signature == nil { missing["\(Self.signatureField.text)"] = "Missing signature" }
      if timestamp == nil { missing["\(Self.timestampField.text)"] = "Missing timestamp" }
      throw .forged("a header field is missing", missing)
    }
    guard let signature = Signature(hex: String(decoding: signature, as: UTF8.self)),
      let moment = Self.moment(timestamp)
    else {
      throw .forged("the signature isn't 128 hexadecimal digits, or the timestamp not 10 or 13")
    }
    guard (now - Self.life...now + Self.leeway).contains(moment) else {
      throw .forged("the timestamp is more than 3 days old or 5 minutes ahead")
    }
    (self.signature, self.timestamp) = (signature, timestamp)
  }

  /// Returns whether the relay has signed a body at this moment.
  func covers(_ body: [UInt8], by relay: AuthenticationPublicKey) -> Bool {
    relay.verifies(signature, over: timestamp + Array(".\(body.count).".utf8) + body)
  }

  private static func moment(_ digits: ArraySlice<UInt8>) -> Timestamp? {
    guard digits.count == 10 || digits.count == 13,
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int64(String(decoding: digits, as: UTF8.self))
    else { return nil }
    return digits.count == 10 ? Timestamp(seconds: number) : Timestamp(milliseconds: number)
  }
}
