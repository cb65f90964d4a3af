/// The reasons for which a certificate and its key can't be used.
public enum TLSError: Error, Equatable, CustomStringConvertible {
  /// The file has no certificate in PEM.
  case noCertificate
  /// A certificate of the chain, counted from 1, is malformed.
  case malformedCertificate(Int)
  /// The file has no private key in PEM.
  case noKey
  /// The key needs a passphrase.
  case encryptedKey
  /// The key belongs to another certificate.
  case mismatch
  /// OpenSSL refuses the pair, for the reason that it states.
  case refused(String)

  /// A description of the mistake, and of the remedy where that isn't obvious.
  public var description: String {
    switch self {
    case .noCertificate: "there is no certificate in PEM (BEGIN CERTIFICATE)"
    case .malformedCertificate(let number): "certificate \(number) of the chain is malformed"
    case .noKey: "there is no private key in PEM (BEGIN PRIVATE KEY)"
    case .encryptedKey: "the key is encrypted; a daemon needs it without a passphrase"
    case .mismatch:
      "the key doesn't belong to the first certificate, which must be the server's own"
    case .refused(let reason): "the certificate or key can't be used: \(reason)"
    }
  }

  /// True if the key is at fault, as opposed to the certificate.
  public var concernsKey: Bool {
    switch self {
    case .noKey, .encryptedKey, .mismatch: true
    case .noCertificate, .malformedCertificate, .refused: false
    }
  }
}
