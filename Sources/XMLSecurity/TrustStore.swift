internal import COpenSSL
internal import Cryptography
public import Platform

/// The roots that certificate chains must end at (RFC 5280, section 6).
///
/// All threads may share a store.
@safe public final class TrustStore: Sendable {
  /// The outcome for a chain.
  public enum Outcome: Sendable, Hashable {
    /// The chain leads to a root.
    case trusted
    /// The chain does not, for a reason in words.
    case untrusted(reason: String)
  }

  /// The path of the roots in Debian's package ca-certificates.
  public static let systemRoots = "/etc/ssl/certs/ca-certificates.crt"

  // Changed in init only; OpenSSL locks its lookups.
  private nonisolated(unsafe) let store: OpaquePointer

  /// Loads the roots.
  ///
  /// Each certificate in the file is trusted, even if it is an intermediate's or a signer's.
  ///
  /// - Parameter path: a file of PEM certificates, or nil for ``systemRoots``.
  /// - Throws: ``CertificateError`` if the file can't be read.
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
  /// Any purpose and any algorithm will do, because the chains of old signatures are those of web servers, and their
  /// roots sign with SHA-1.
  ///
  /// - Parameters:
  ///   - others: further certificates in any order; they are not trusted by themselves.
  ///   - time: the time at which the chain must hold. If it is nil, the chain must hold at the start or at the end of
  ///     the leaf's validity.
  public func check(_ leaf: Certificate, others: [Certificate], at time: Timestamp?) -> Outcome {
    if let time { return verify(leaf, others, at: time) }
    let first = verify(leaf, others, at: leaf.notBefore)
    guard first != .trusted, verify(leaf, others, at: leaf.notAfter) == .trusted else {
      return first
    }
    return .trusted
  }

  /// Checks the chain of a signature; a bare key has none.
  public func check(_ signature: VerifiedSignature, at time: Timestamp?) -> Outcome {
    guard let certificate = signature.certificate else {
      return .untrusted(reason: "a bare key, without a certificate")
    }
    return check(certificate, others: signature.otherCertificates, at: time)
  }

  private func verify(_ leaf: Certificate, _ others: [Certificate], at time: Timestamp) -> Outcome {
    defer { ERR_clear_error() }
    guard let stack = unsafe OPENSSL_sk_new_null() else {
      return .untrusted(reason: "out of memory")
    }
    defer { unsafe OPENSSL_sk_free(stack) }
    for certificate in others {
      unsafe OPENSSL_sk_push(stack, UnsafeRawPointer(certificate.handle.pointer))
    }
    guard let context = unsafe X509_STORE_CTX_new() else {
      return .untrusted(reason: "out of memory")
    }
    defer { unsafe X509_STORE_CTX_free(context) }
    return withExtendedLifetime((leaf, others)) {
      guard unsafe X509_STORE_CTX_init(context, store, leaf.handle.pointer, stack) == 1 else {
        return .untrusted(reason: "out of memory")
      }
      unsafe X509_STORE_CTX_set_time(context, 0, Int(time.seconds))
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
