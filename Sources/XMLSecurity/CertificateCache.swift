internal import Cryptography
internal import Platform

/// The certificates that were read lately.
///
/// Most documents of a repository have one of a few signers, and OpenSSL 3 takes as long to read a certificate with its key
/// as to verify a signature with it. What a certificate says depends on its text alone, so nothing is judged here.
final class CertificateCache: Sendable {
  /// A repository has some ten signers, with two to four certificates each.
  private static let limit = 64
  /// The base64 of real certificates has 800 to 3,500 bytes.
  private static let sizeLimit = 8192

  private let certificates = Lock<[String: Certificate]>([:])

  /// Returns the certificate of an element, which is read unless it is known.
  ///
  /// - Parameter element: an X509Certificate, which holds one certificate in DER and base64.
  /// - Returns: the certificate, or nil if the element holds none.
  /// - Throws: ``CertificateError`` if it can't be used.
  func certificate(in element: XMLElement) throws(CertificateError) -> Certificate? {
    let text = element.text
    if let known = certificates.withLock({ $0[text] }) { return known }
    guard let x509 = element.base64.flatMap(X509Certificate.init(der:)) else { return nil }
    let certificate = try Certificate(x509)
    guard text.utf8.count <= Self.sizeLimit else { return certificate }
    certificates.withLock { known in
      // Strangers' certificates may push out all others, which are then read again.
      if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
      known[text] = certificate
    }
    return certificate
  }
}
