/// The namespaces and identifiers of XML Signature, and the accepted algorithms.
enum Algorithm {
  static let signature = "http://www.w3.org/2000/09/xmldsig#"
  static let signature11 = "http://www.w3.org/2009/xmldsig11#"
  static let signatureMore = "http://www.w3.org/2001/04/xmldsig-more#"
  static let advancedSignature = "http://uri.etsi.org/01903/v1.3.2#"
  static let signedProperties = "http://uri.etsi.org/01903#SignedProperties"
  static let exclusiveC14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
  static let enveloped = signature + "enveloped-signature"
  static let sha256 = "http://www.w3.org/2001/04/xmlenc#sha256"
  static let rsaSHA256 = signatureMore + "rsa-sha256"
  static let ecdsaSHA256 = signatureMore + "ecdsa-sha256"

  /// Canonical XML 1.0 and 1.1, and exclusive 1.0.
  ///
  /// The variants with comments make no difference to the document, as a reference without XPointer omits comments.
  static let canonicalizations: Set = [
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments",
    "http://www.w3.org/2006/12/xml-c14n11",
    "http://www.w3.org/2006/12/xml-c14n11#WithComments",
    exclusiveC14N, exclusiveC14N + "WithComments",
  ]

  static let digests: Set = [
    sha256, signatureMore + "sha384", "http://www.w3.org/2001/04/xmlenc#sha512",
  ]

  static let rsaSignatures: Set = [
    rsaSHA256, signatureMore + "rsa-sha384", signatureMore + "rsa-sha512",
  ]

  static let ecdsaSignatures: Set = [
    ecdsaSHA256, signatureMore + "ecdsa-sha384", signatureMore + "ecdsa-sha512",
  ]
}
