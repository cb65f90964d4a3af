internal import COpenSSL
internal import Cryptography

/// The roots that certificate chains must end at (RFC 5280, section 6).
///
/// One store serves all threads.
@safe public final class TrustStore: Sendable {
  /// Whether a chain holds.
  public enum Verdict: Sendable, Hashable {
    /// It leads to a root.
    case trusted
    /// It does not, for a reason in words.
    case untrusted(reason: String)
  }

  /// Where Debian keeps the roots of its package ca-certificates.
  public static let systemRoots = "/etc/ssl/certs/ca-certificates.crt"

  // Never changed after init; OpenSSL counts references and locks its lookups itself.
  private nonisolated(unsafe) let store: OpaquePointer

  /// Loads the roots.
  ///
  /// A certificate in the file is trusted as it is, also if it is no root: who names an intermediate
  /// or a single signer there means it.
  ///
  /// - Parameter path: a file of PEM certificates; nil: ``systemRoots``.
  public init(rootsFile path: String? = nil) throws(CertificateError) {
    defer { ERR_clear_error() }
    guard let store = unsafe X509_STORE_new() else { throw CertificateError("out of memory") }
    guard unsafe X509_STORE_load_file(store, path ?? Self.systemRoots) == 1 else {
      unsafe X509_STORE_free(store)
      throw CertificateError("no certificates can be read from \(path ?? Self.systemRoots)")
    }
    unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    unsafe self.store = store
  }

  deinit { unsafe X509_STORE_free(store) }

  /// Checks the chain of a signer's certificate.
  ///
  /// No purpose is asked for and no algorithm excluded: the chains of old signatures are those of
  /// web servers, and their roots sign with SHA-1.
  ///
  /// - Parameters:
  ///   - leaf: the signer's certificate.
  ///   - others: further certificates, in any order, none of them trusted for being there.
  ///   - time: when the chain must hold, in seconds since 1970 UTC. Nil: it must hold within the
  ///     leaf's validity, at its beginning or at its end.
  public func check(
    _ leaf: Certificate, others: [Certificate], at time: Int64?
  ) -> Verdict {
    if let time { return verify(leaf, others, at: time) }
    let first = verify(leaf, others, at: leaf.notBefore)
    guard first != .trusted, verify(leaf, others, at: leaf.notAfter) == .trusted else {
      return first
    }
    return .trusted
  }

  /// Checks the chain that came with a signature; a bare key has none.
  ///
  /// - Parameters:
  ///   - signature: one that holds.
  ///   - time: as in ``check(_:others:at:)``.
  public func check(_ signature: VerifiedSignature, at time: Int64?) -> Verdict {
    guard let certificate = signature.certificate else {
      return .untrusted(reason: "a bare key, without a certificate")
    }
    return check(certificate, others: signature.otherCertificates, at: time)
  }

  private func verify(_ leaf: Certificate, _ others: [Certificate], at time: Int64) -> Verdict {
    defer { ERR_clear_error() }
    let intermediates = others.compactMap { X509Certificate(der: $0.der) }
    guard let target = X509Certificate(der: leaf.der), let stack = unsafe OPENSSL_sk_new_null()
    else { return .untrusted(reason: "out of memory") }
    defer { unsafe OPENSSL_sk_free(stack) }
    for certificate in intermediates {
      unsafe OPENSSL_sk_push(stack, UnsafeRawPointer(certificate.pointer))
    }
    guard let context = unsafe X509_STORE_CTX_new() else {
      return .untrusted(reason: "out of memory")
    }
    defer { unsafe X509_STORE_CTX_free(context) }
    return withExtendedLifetime((target, intermediates)) {
      guard unsafe X509_STORE_CTX_init(context, store, target.pointer, stack) == 1 else {
        return .untrusted(reason: "out of memory")
      }
      unsafe X509_STORE_CTX_set_time(context, 0, Int(time))
      if unsafe X509_verify_cert(context) == 1 { return .trusted }
      return unsafe .untrusted(reason: Self.reason(context))
    }
  }

  private static func reason(_ context: OpaquePointer) -> String {
    let error = unsafe X509_STORE_CTX_get_error(context)
    let words = unsafe String(cString: X509_verify_cert_error_string(Int(error)))
    guard let current = unsafe X509_STORE_CTX_get_current_cert(context),
      unsafe X509_up_ref(current) == 1, let certificate = unsafe X509Certificate(adopting: current)
    else { return words }
    return "\(words): \(certificate.subject)"
  }
}
