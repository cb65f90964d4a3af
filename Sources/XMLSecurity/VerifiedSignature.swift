public import Platform

/// A signature that holds, and the facts about its signer.
public struct VerifiedSignature: Sendable, Hashable {
  /// The XAdES signing time, or nil unless the signature covers one; it may lie in the future.
  public let signingTime: Timestamp?
  /// The covered SigningTime as written; it is no date if ``signingTime`` is nil.
  public let signingTimeText: String?
  /// The key that made the signature.
  public let key: PublicKey
  /// The certificate that holds the key, or nil for a bare key.
  public let certificate: Certificate?
  /// The other certificates of the signature, each once, in document order.
  public let otherCertificates: [Certificate]
}
