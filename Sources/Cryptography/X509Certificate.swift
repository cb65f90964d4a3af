internal import COpenSSL
internal import Glibc
package import Platform

/// A certificate of OpenSSL's (RFC 5280), freed with its last reference.
@safe package final class X509Certificate: Sendable {
  // Safe to share: changed by its maker only, and OpenSSL locks what it caches in it.
  /// The certificate, an `X509`.
  package nonisolated(unsafe) let pointer: OpaquePointer

  /// Takes over a reference, or returns nil if there is none.
  package init?(adopting pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe X509_free(pointer) }

  /// Reads DER, or returns nil if that is no certificate or has bytes behind it.
  package convenience init?(der: [UInt8]) {
    unsafe self.init(
      adopting: der.withUnsafeBufferPointer { buffer in
        var next = buffer.baseAddress
        guard let x509 = unsafe d2i_X509(nil, &next, buffer.count) else { return nil }
        if unsafe next == buffer.baseAddress?.advanced(by: buffer.count) { return unsafe x509 }
        unsafe X509_free(x509)
        return nil
      })
  }

  /// The start of the validity, or nil if the certificate states no time.
  package var notBefore: Timestamp? { unsafe Self.timestamp(X509_get0_notBefore(pointer)) }

  /// The end of the validity, or nil if the certificate states no time.
  package var notAfter: Timestamp? { unsafe Self.timestamp(X509_get0_notAfter(pointer)) }

  private static func timestamp(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp? {
    var parts = unsafe tm()
    guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return unsafe Timestamp(seconds: Int64(timegm(&parts)))
  }
}
