internal import COpenSSL
internal import Cryptography

extension X509Certificate {
  var der: [UInt8]? { unsafe derEncoded { unsafe i2d_X509(pointer, $0) } }

  var publicKey: EVPKey? { unsafe EVPKey(adopting: X509_get_pubkey(pointer)) }

  var subject: String { unsafe Self.text(of: X509_get_subject_name(pointer)) }

  var issuer: String { unsafe Self.text(of: X509_get_issuer_name(pointer)) }

  var commonName: String? {
    let name = unsafe X509_get_subject_name(pointer)
    var last: Int32 = -1
    while case let next = unsafe X509_NAME_get_index_by_NID(name, NID_commonName, last), next >= 0 {
      last = next
    }
    guard last >= 0, let entry = unsafe X509_NAME_get_entry(name, last) else { return nil }
    var utf8: UnsafeMutablePointer<UInt8>?
    let length = unsafe ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry))
    guard length >= 0, let start = unsafe utf8 else { return nil }
    defer { unsafe CRYPTO_free(start, #file, #line) }
    return unsafe String(
      decoding: UnsafeBufferPointer(start: start, count: Int(length)), as: UTF8.self)
  }

  /// The algorithm of the issuer's signature, by its name in the Java Security standard.
  var signatureAlgorithm: String {
    let algorithm = unsafe X509_get_signature_nid(pointer)
    var digest: Int32 = 0
    var key: Int32 = 0
    guard unsafe OBJ_find_sigid_algs(algorithm, &digest, &key) == 1, digest != NID_undef else {
      return Self.name(of: algorithm)
    }
    switch key {
    case NID_rsaEncryption: return Self.name(of: digest) + "withRSA"
    case NID_X9_62_id_ecPublicKey: return Self.name(of: digest) + "withECDSA"
    case NID_dsa: return Self.name(of: digest) + "withDSA"
    default: return Self.name(of: algorithm)
    }
  }

  /// The content of the only issuerAltName, which need not be a list of names; nil if there is none, or several.
  var issuerAltName: [UInt8]? {
    let place = unsafe X509_get_ext_by_NID(pointer, NID_issuer_alt_name, -1)
    guard place >= 0, unsafe X509_get_ext_by_NID(pointer, NID_issuer_alt_name, place) < 0,
      let data = unsafe X509_EXTENSION_get_data(X509_get_ext(pointer, place)),
      let start = unsafe ASN1_STRING_get0_data(data)
    else { return nil }
    return unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(data))))
  }

  /// Returns whether a key has signed the certificate with ECDSA and SHA-256.
  func isSignedWithECDSA(by key: EVPKey) -> Bool {
    unsafe X509_get_signature_nid(pointer) == NID_ecdsa_with_SHA256
      && X509_verify(pointer, key.pointer) == 1
  }

  private static func name(of object: Int32) -> String {
    unsafe OBJ_nid2sn(object).map { unsafe String(cString: $0) } ?? "unknown"
  }

  /// Returns a name in the form of RFC 2253, with characters beyond ASCII unescaped, as the RFC allows.
  private static func text(of name: OpaquePointer?) -> String {
    guard let sink = unsafe BIO_new(BIO_s_mem()) else { return "" }
    defer { unsafe BIO_free(sink) }
    let flags = copenssl_rfc2253 & ~UInt(ASN1_STRFLGS_ESC_MSB)
    guard unsafe X509_NAME_print_ex(sink, name, 0, flags) >= 0 else { return "" }
    return String(decoding: unsafe contents(of: sink), as: UTF8.self)
  }
}

/// Returns the bytes that were written to a memory BIO.
func contents(of sink: OpaquePointer) -> [UInt8] {
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while case let count = unsafe BIO_read(sink, &chunk, Int32(chunk.count)), count > 0 {
    bytes.append(contentsOf: chunk[..<Int(count)])
  }
  return bytes
}
