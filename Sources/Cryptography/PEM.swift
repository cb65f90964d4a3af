internal import COpenSSL

/// Certificates and private keys in PEM (RFC 7468), as OpenSSL reads it.
package enum PEM {
  /// A reason for which a text gives no private key.
  package enum KeyError: Error {
    /// There is no key, or it is malformed.
    case noKey
    /// The key is encrypted.
    case encrypted
  }

  /// Reads the certificates of a text and skips blocks of other kinds.
  ///
  /// - Parameter text: the content of a PEM file.
  /// - Returns: the certificates before the first malformed block, in order, and whether there is no such block.
  package static func certificates(
    in text: [UInt8]
  ) -> (certificates: [X509Certificate], isWhole: Bool) {
    unsafe withSource(text) { source in
      var certificates: [X509Certificate] = []
      while let x509 = unsafe X509Certificate(adopting: PEM_read_bio_X509(source, nil, nil, nil)) {
        certificates.append(x509)
      }
      // OpenSSL reports the end as an error too: no further block begins.
      return (certificates, ERR_peek_last_error() & 0x7f_ffff == UInt(PEM_R_NO_START_LINE))
    }
  }

  /// Reads the first private key of a text.
  ///
  /// - Parameter text: the content of a PEM file.
  /// - Throws: ``KeyError``.
  package static func privateKey(in text: [UInt8]) throws(KeyError) -> EVPKey {
    var isEncrypted = false
    let key = unsafe withSource(text) { source in
      unsafe withUnsafeMutablePointer(to: &isEncrypted) { isEncrypted in
        // Without a callback OpenSSL would ask for a passphrase on the terminal.
        unsafe EVPKey(
          adopting: PEM_read_bio_PrivateKey(
            source, nil,
            { _, _, _, isEncrypted in
              unsafe isEncrypted?.assumingMemoryBound(to: Bool.self).pointee = true
              return -1
            }, isEncrypted))
      }
    }
    guard let key else { throw isEncrypted ? .encrypted : .noKey }
    return key
  }

  /// Calls a closure with a source that reads from the text itself, and leaves no error in OpenSSL's queue.
  private static func withSource<Result>(
    _ text: [UInt8], _ body: (OpaquePointer?) -> Result
  ) -> Result {
    ERR_clear_error()
    defer { ERR_clear_error() }
    return unsafe text.withUnsafeBytes { bytes in
      let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
      defer { unsafe BIO_free(source) }
      return unsafe body(source)
    }
  }
}
