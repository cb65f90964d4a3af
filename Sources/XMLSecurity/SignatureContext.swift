internal import COpenSSL
internal import Cryptography
internal import CXML
internal import CXMLSec

/// A context of libxmlsec1 for one Signature and one key.
@safe struct SignatureContext: ~Copyable {
  private let context: xmlSecDSigCtxPtr

  /// The outcome of a verification.
  enum Outcome {
    /// The signature holds.
    case holds
    /// A digest differs, because the signed content was changed.
    case changed
    /// The value was not made by the key.
    case forged
    /// libxmlsec1 could not process the signature.
    case failed
  }

  /// Makes a context, or returns nil if memory is short.
  ///
  /// - Parameters:
  ///   - key: the only key that is used.
  ///   - allowsIdentifiers: whether a reference by Id may be followed.
  init?(key: EVPKey, allowsIdentifiers: Bool) {
    guard let signKey = unsafe Self.key(key) else { return nil }
    guard let context = unsafe xmlSecDSigCtxCreate(nil) else {
      unsafe xmlSecKeyDestroy(signKey)
      return nil
    }
    unsafe self.context = context
    unsafe context.pointee.signKey = signKey
    // No other key is used, no reference leads out of the document, and no Manifest is followed.
    let uris =
      xmlSecTransformUriTypeEmpty | (allowsIdentifiers ? xmlSecTransformUriTypeSameDocument : 0)
    unsafe context.pointee.enabledReferenceUris = UInt32(uris)
    unsafe context.pointee.flags =
      UInt32(XMLSEC_DSIG_FLAGS_IGNORE_MANIFESTS | XMLSEC_DSIG_FLAGS_STORE_SIGNATURE)
  }

  deinit {
    unsafe xmlSecDSigCtxDestroy(context)
    ERR_clear_error()
  }

  private static func key(_ key: EVPKey) -> xmlSecKeyPtr? {
    guard unsafe EVP_PKEY_up_ref(key.pointer) == 1 else { return nil }
    guard let data = unsafe xmlSecOpenSSLEvpKeyAdopt(key.pointer) else {
      unsafe EVP_PKEY_free(key.pointer)
      return nil
    }
    guard let result = unsafe xmlSecKeyCreate() else {
      unsafe xmlSecKeyDataDestroy(data)
      return nil
    }
    guard unsafe xmlSecKeySetValue(result, data) == 0 else {
      unsafe xmlSecKeyDataDestroy(data)
      unsafe xmlSecKeyDestroy(result)
      return nil
    }
    return unsafe result
  }

  /// Verifies a Signature in its document.
  func verify(_ signature: XMLElement) -> Outcome {
    guard unsafe xmlSecDSigCtxVerify(context, signature.node) == 0 else { return .failed }
    if unsafe context.pointee.status == xmlSecDSigStatusSucceeded { return .holds }
    let references = unsafe context.pointee.signedInfoReferences
    for index in unsafe 0..<references.use {
      let item = unsafe references.data[Int(index)]?.assumingMemoryBound(
        to: xmlSecDSigReferenceCtx.self)
      guard unsafe item?.pointee.status == xmlSecDSigStatusSucceeded else { return .changed }
    }
    return .forged
  }

  /// Fills in the empty digests and the empty value of a Signature.
  func sign(_ signature: XMLElement) -> Bool {
    unsafe xmlSecDSigCtxSign(context, signature.node) == 0
      && context.pointee.status == xmlSecDSigStatusSucceeded
  }

  /// Returns whether a key made the value, after a verification with another key whose outcome was ``Outcome/forged``.
  func isMade(by key: EVPKey, value: [UInt8]) -> Bool {
    signedBytes.map { isMade(by: key, value: value, over: $0) } ?? false
  }

  /// Returns whether a key made the value over a SignedInfo without the default namespace that it inherits, as the official
  /// tool makes it where the root has one. Canonical XML requires that declaration.
  func isMadeWithoutDefaultNamespace(by key: EVPKey, value: [UInt8]) -> Bool {
    guard let bytes = signedBytes, let rest = Self.withoutDefaultNamespace(bytes) else {
      return false
    }
    return isMade(by: key, value: value, over: rest)
  }

  /// The canonical SignedInfo of the last verification.
  private var signedBytes: [UInt8]? {
    guard let signed = unsafe xmlSecDSigCtxGetPreSignBuffer(context),
      let start = unsafe xmlSecBufferGetData(signed)
    else { return nil }
    return unsafe [UInt8](
      UnsafeBufferPointer(start: start, count: Int(xmlSecBufferGetSize(signed))))
  }

  /// Returns a canonical element without the declaration of its default namespace, which comes first in canonical XML; nil
  /// if there is none.
  private static func withoutDefaultNamespace(_ bytes: [UInt8]) -> [UInt8]? {
    let declaration = Array(" xmlns=\"".utf8)
    guard let name = bytes.firstIndex(of: UInt8(ascii: " ")),
      bytes[name...].starts(with: declaration)
    else { return nil }
    let value = name + declaration.count
    guard let end = bytes[value...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    return Array(bytes[..<name] + bytes[(end + 1)...])
  }

  private func isMade(by key: EVPKey, value: [UInt8], over signed: [UInt8]) -> Bool {
    guard let method = unsafe context.pointee.signMethod?.pointee.id,
      let transform = unsafe xmlSecTransformCreate(method)
    else { return false }
    defer { unsafe xmlSecTransformDestroy(transform) }
    guard let verifyKey = unsafe Self.key(key) else { return false }
    defer { unsafe xmlSecKeyDestroy(verifyKey) }
    let transforms = unsafe xmlSecTransformCtxCreate()
    defer { unsafe xmlSecTransformCtxDestroy(transforms) }
    unsafe transform.pointee.operation = xmlSecTransformOperationVerify
    return unsafe xmlSecTransformSetKey(transform, verifyKey) == 0
      && xmlSecTransformPushBin(
        transform, signed, UInt32(signed.count), 1, transforms) == 0
      && xmlSecTransformVerify(transform, value, UInt32(value.count), transforms) == 0
      && transform.pointee.status == xmlSecTransformStatusOk
  }
}
