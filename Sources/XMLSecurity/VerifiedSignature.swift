/// What one signature that holds says about its signer.
public struct VerifiedSignature: Sendable, Hashable {
  /// When it was signed, in seconds since 1970 UTC, as XAdES states it; only where the signature
  /// covers the statement. It may lie in the future.
  public let signingTime: Int64?
  /// The covered SigningTime as written; with a nil ``signingTime`` it is no date.
  public let signingTimeText: String?
  /// The key that made the signature.
  public let key: SigningKey
  /// The certificate that holds the key; nil for a bare key.
  public let certificate: Certificate?
  /// The other certificates that came with it, each once, in document order.
  public let otherCertificates: [Certificate]
}
