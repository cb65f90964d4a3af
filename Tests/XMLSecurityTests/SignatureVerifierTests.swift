internal import Foundation
internal import TestSupport
internal import Testing
internal import XMLSecurity

@Suite(.ownThreads) struct SignatureVerifierTests {
  private func code(_ document: String) throws -> SignatureError.Code? {
    do {
      _ = try SignatureVerifier().verify(XMLDocument(parsing: [UInt8](document.utf8)))
      return nil
    } catch let error as SignatureError {
      return error.code
    }
  }

  private let sha1 = "http://www.w3.org/2000/09/xmldsig#sha1"
  private let enveloped =
    "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"/>"
  private let exclusive =
    "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>"

  @Test func unsigned() throws {
    #expect(try code(Fixtures.unsigned) == .unsigned)
    #expect(try code("<a><Signature/></a>") == .unsigned)
  }

  /// Every byte matters but those of comments and of the declaration, which the signature does not cover.
  @Test func anyChange() throws {
    let signed = try Fixtures.signed(by: .secp256k1, withCertificate: false)
    let bytes = [UInt8](signed.utf8)
    let start = try #require(signed.range(of: "<ds:Signature "))
    let valueStart = try #require(signed.range(of: "<ds:SignatureValue>"))
    let covered =
      Array(0..<signed.utf8.distance(from: signed.startIndex, to: start.lowerBound))
      + Array(
        signed.utf8.distance(
          from: signed.startIndex, to: start.upperBound)..<signed.utf8.distance(
            from: signed.startIndex, to: valueStart.lowerBound))
    let uncovered = [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<!-- not signed -->", "<!-- skip -->",
    ]
    .compactMap { signed.range(of: $0) }
    .map {
      signed.utf8.distance(
        from: signed.startIndex, to: $0.lowerBound)..<signed.utf8.distance(
          from: signed.startIndex, to: $0.upperBound)
    }
    let breaks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\n")]
    var survivors: [Int] = []
    for position in covered where !breaks.contains(bytes[position]) {
      var changed = bytes
      changed[position] =
        bytes[position] == UInt8(ascii: "Z") ? UInt8(ascii: "Y") : UInt8(ascii: "Z")
      if (try? verify(changed)) != nil { survivors.append(position) }
    }
    let id = try #require(signed.range(of: " Id=\"signature-"))
    let idStart = signed.utf8.distance(from: signed.startIndex, to: id.lowerBound)
    for position in survivors where !uncovered.contains(where: { $0.contains(position) }) {
      #expect(
        (idStart..<idStart + 35).contains(position),
        "a change at byte \(position), “\(String(decoding: bytes[max(0, position - 20)..<position + 20], as: UTF8.self))”, goes unnoticed"
      )
    }
  }

  @Test func whiteSpaceCounts() throws {
    let signed = try Fixtures.signed()
    #expect(try code(signed.replacing("\n  </ts:contract>", by: "</ts:contract>")) == .changed)
    #expect(try code(signed.replacing("network=\"1\">", by: "network=\"1\"  >")) == nil)
  }

  // MARK: Wrapping

  @Test func wrappedBelowAForgedRoot() throws {
    let signed = try Fixtures.signed()
    let root = try signed.part(from: "<ts:token ", through: "</ts:token>")
    let forged = try signed.replacing(
      root,
      by: "<ts:token xmlns:ts=\"http://tokenscript.org/2020/03/tokenscript\">"
        + "<ts:contract name=\"Forged\"/>\(root)</ts:token>")
    #expect(try code(forged) == .structure)
  }

  @Test func movedIntoAChild() throws {
    let signed = try Fixtures.signed()
    let signature = try signed.part(from: "<ds:Signature ", through: "</ds:Signature>")
    let moved = try signed.replacing(signature, by: "")
      .replacing("<ts:origins>", by: "<ts:origins>" + signature)
    #expect(try code(moved) == .structure)
    let wrapped = try signed.replacing(
      signature, by: "<ts:x xmlns:ts=\"urn:x\">\(signature)</ts:x>")
    #expect(try code(wrapped) == .structure)
    let inside = try signed.replacing(
      "</xades:QualifyingProperties>",
      by: "<ds:Signature/></xades:QualifyingProperties>")
    #expect(try code(inside) == .structure)
    #expect(try code(signature) == .structure)
  }

  @Test func duplicated() throws {
    let signed = try Fixtures.signed()
    let signature = try signed.part(from: "<ds:Signature ", through: "</ds:Signature>")
    #expect(try code(signed.replacing(signature, by: signature + signature)) == .reference)
    let other = signature.replacingOccurrences(of: "signature-", with: "other-")
    #expect(try code(signed.replacing(signature, by: other + signature)) != nil)
    #expect(try code(signed.replacing(signature, by: signature + other)) != nil)
    let nine = String(repeating: signature, count: 9)
    #expect(try code(signed.replacing(signature, by: nine)) == .structure)
  }

  @Test func secondRoot() throws {
    let signed = try Fixtures.signed()
    #expect(throws: XMLError.self) { try verify(signed + "<ts:token/>") }
    #expect(throws: XMLError.self) { try verify("<ts:token/>" + signed) }
  }

  @Test(arguments: [
    "#body", "#xpointer(/)", "#xpointer(id('body'))", "other.xml", "file:///etc/passwd",
    "http://127.0.0.1:1/", " ", "#",
  ])
  func otherReferences(uri: String) throws {
    let signed = try Fixtures.signed(
      Fixtures.unsigned.replacing("<ts:label>", by: "<ts:label Id='body' xml:id='body'>"))
    let document = try signed.replacing(
      "<ds:Reference URI=\"\">", by: "<ds:Reference URI=\"\(uri)\">")
    #expect(try code(document) == .reference)
    let typed = try signed.replacing(
      "<ds:Reference URI=\"\">",
      by: "<ds:Reference Type=\"http://uri.etsi.org/01903#SignedProperties\" URI=\"\(uri)\">")
    #expect(try code(typed) == .reference)
  }

  @Test(arguments: ["Id", "ID", "id", "xml:id"])
  func identifierTwice(attribute: String) throws {
    let signed = try Fixtures.signed()
    let id = try signed.part(from: "\"#signature-", through: "-properties\"").dropFirst(2)
    let twice = try signed.replacing("<ts:label>", by: "<ts:label \(attribute)=\"\(id)>")
    #expect(try code(twice) == .reference)
  }

  @Test func thirdReference() throws {
    let signed = try Fixtures.signed()
    let first = try signed.part(from: "<ds:Reference URI=\"\">", through: "</ds:Reference>")
    let second = try signed.part(from: "<ds:Reference URI=\"#", through: "</ds:Reference>")
    #expect(try code(signed.replacing(first, by: first + first)) == .reference)
    #expect(try code(signed.replacing(second, by: second + second)) == .reference)
    #expect(try code(signed.replacing(first, by: "")) == .reference)
    #expect(try code(signed.replacing(second, by: "")) == .forged)
  }

  // MARK: Signing time

  /// libxmlsec1 accepts this file, because the time is in the signature that `enveloped` removes.
  @Test func envelopedOnTheSigningTime() throws {
    let signed = try Fixtures.signed()
    let second = try signed.part(from: "<ds:Reference URI=\"#", through: "</ds:Reference>")
    let enveloping = try second.replacing(exclusive, by: enveloped)
    #expect(try code(signed.replacing(second, by: enveloping)) == .algorithm)
    let both = try second.replacing(exclusive, by: enveloped + exclusive)
    #expect(try code(signed.replacing(second, by: both)) == .reference)
  }

  @Test func changedSigningTime() throws {
    let signed = try Fixtures.signed()
    #expect(try code(signed.replacing("2024-01-01T", by: "2025-01-01T")) == .changed)
  }

  /// Properties outside the Signature itself do not count.
  @Test func strayedProperties() throws {
    let signed = try Fixtures.signed()
    let object = try signed.part(from: "<ds:Object>", through: "</ds:Object>")
    let stray = object.replacingOccurrences(of: "ds:Object", with: "ts:object")
    let moved = try signed.replacing(object, by: "<ds:Object/>")
      .replacing("<ts:origins>", by: "<ts:origins>" + stray)
    #expect(try code(moved) == .reference)
    #expect(
      try code(signed.replacing(" Type=\"http://uri.etsi.org/01903#SignedProperties\"", by: ""))
        == .reference)
  }

  // MARK: Algorithms and transforms

  @Test func weakAlgorithms() throws {
    let signed = try Fixtures.signed(by: .rsa)
    let replacements = [
      ("http://www.w3.org/2001/04/xmlenc#sha256", sha1),
      (
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        sha1.replacingOccurrences(of: "#sha1", with: "#rsa-sha1")
      ),
      (
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2000/09/xmldsig#hmac-sha1"
      ),
      (
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"
      ),
      (
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-md5"
      ),
      (
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2000/09/xmldsig#dsa-sha1"
      ),
      ("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", ""),
    ]
    for (old, new) in replacements {
      #expect(try code(signed.replacing(old, by: new)) == .algorithm)
    }
  }

  @Test(arguments: [
    "http://www.w3.org/TR/1999/REC-xpath-19991116", "http://www.w3.org/2002/06/xmldsig-filter2",
    "http://www.w3.org/TR/1999/REC-xslt-19991116", "http://www.w3.org/2000/09/xmldsig#base64",
    "http://www.w3.org/2001/04/xmlenc#decrypt",
    "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
    "",
  ])
  func otherTransforms(algorithm: String) throws {
    let signed = try Fixtures.signed()
    let transform =
      "<ds:Transform Algorithm=\"\(algorithm)\"><ds:XPath>true</ds:XPath></ds:Transform>"
    for place in [enveloped + transform, transform + enveloped, transform] {
      let code = try code(signed.replacing(enveloped, by: place))
      #expect(code == .reference || code == .structure)
    }
    let instead = try signed.replacing(enveloped + exclusive, by: enveloped + transform)
    #expect(try code(instead) == .algorithm)
    #expect(try code(signed.replacing(enveloped, by: "")) == .reference)
    #expect(
      try code(
        signed.replacing(
          "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>",
          by: "<ds:CanonicalizationMethod Algorithm=\"\(algorithm)\"/>")) == .algorithm)
  }

  /// libxmlsec1 reads the first attribute with the local name.
  @Test func attributesInNamespaces() throws {
    let signed = try Fixtures.signed()
    let hidden = "xmlns:x=\"urn:x\" x:"
    #expect(
      try code(signed.replacing("Reference URI=\"\"", by: "Reference \(hidden)URI=\"#x\" URI=\"\""))
        == .structure)
    #expect(
      try code(
        signed.replacing("Transform Algorithm", by: "Transform \(hidden)Algorithm=\"y\" Algorithm"))
        == .structure)
  }

  @Test func parameters() throws {
    let signed = try Fixtures.signed()
    let list =
      "<ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"ts\"/>"
    let allowed = try exclusive.replacing("/>", by: ">\(list)</ds:Transform>")
    #expect(try code(signed.replacing(enveloped + exclusive, by: enveloped + allowed)) == .forged)
    let refused = try exclusive.replacing("/>", by: "><ds:XPath/></ds:Transform>")
    #expect(
      try code(signed.replacing(enveloped + exclusive, by: enveloped + refused)) == .structure)
    #expect(
      try code(
        signed.replacing(
          "#ecdsa-sha256\"/>",
          by: "#ecdsa-sha256\"><ds:HMACOutputLength>8</ds:HMACOutputLength></ds:SignatureMethod>"))
        == .structure)
  }

  /// Each prefix is looked for at each element, so lists are short, and shorter still in long documents.
  @Test func prefixListsAreBounded() throws {
    let signed = try Fixtures.signed()
    func code(prefixes: [String]) throws -> SignatureError.Code? {
      let list = prefixes.joined(separator: " ")
      let listed = try exclusive.replacing(
        "/>",
        by: "><ec:InclusiveNamespaces xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" "
          + "PrefixList=\"\(list)\"/></ds:Transform>")
      return try self.code(signed.replacing(enveloped + exclusive, by: enveloped + listed))
    }
    #expect(try code(prefixes: (0..<16).map { "p\($0)" }) == .forged)
    #expect(try code(prefixes: (0..<17).map { "p\($0)" }) == .structure)
    #expect(try code(prefixes: [String(repeating: "p", count: 65)]) == .structure)
  }

  @Test func missingParts() throws {
    let signed = try Fixtures.signed()
    for (start, end) in [
      ("<ds:SignedInfo>", "</ds:SignedInfo>"), ("<ds:SignatureValue>", "</ds:SignatureValue>"),
      ("<ds:KeyInfo>", "</ds:KeyInfo>"), ("<ds:DigestValue>", "</ds:DigestValue>"),
      ("<ds:CanonicalizationMethod ", "/>"), ("<ds:SignatureMethod ", "/>"),
      ("<ds:DigestMethod ", "/>"),
    ] {
      let document = try signed.replacing(signed.part(from: start, through: end), by: "")
      #expect(try code(document) == .structure, "without \(start)")
    }
    let value = try signed.part(from: "<ds:SignatureValue>", through: "</ds:SignatureValue>")
    for bad in ["", "AAAA", "!"] {
      let document = try signed.replacing(
        value, by: "<ds:SignatureValue>\(bad)</ds:SignatureValue>")
      #expect(try code(document) != nil)
    }
  }

  /// A verification leaves the document as it was, whether it succeeds or not.
  @Test func leavesTheDocumentAlone() throws {
    let twice = try Fixtures.signed(Fixtures.signed(), by: .secp256k1)
    let document = try XMLDocument(parsing: [UInt8](twice.utf8))
    let names = document.root.children.map(\.name)
    let signatures = try SignatureVerifier().verify(document)
    #expect(signatures.count == 2)
    #expect(document.root.children.map(\.name) == names)
    #expect(try SignatureVerifier().verify(document) == signatures)

    let broken = try XMLDocument(parsing: [UInt8](twice.replacing("733a", by: "733b").utf8))
    for _ in 0..<2 {
      #expect(throws: SignatureError.self) { try SignatureVerifier().verify(broken) }
      #expect(broken.root.children.map(\.name) == names)
    }
  }

  /// One broken signature of several is an error with its number.
  @Test func whichOfSeveral() throws {
    let first = try Fixtures.signed(by: .p256, withCertificate: false)
    let second = try Fixtures.signed(by: .p384, withCertificate: false)
    let signature = try second.part(from: "<ds:Signature ", through: "</ds:Signature>")
    let appended = try first.replacing("</ts:token>", by: signature + "</ts:token>")
    let error = #expect(throws: SignatureError.self) { try verify(appended) }
    #expect(error?.signature == 2)
    #expect(error?.code == .changed)
    #expect(error?.description.hasPrefix("signature 2: ") == true)
  }

  /// White space that a later signer puts around signatures is signed by that one only, and breaks the earlier ones.
  @Test func whiteSpaceBetweenSignatures() throws {
    let first = try Fixtures.signed(by: .p256)
    let spaced = try first.replacing(
      "</ds:Signature></ts:token>", by: "</ds:Signature>\n</ts:token>")
    #expect(try code(spaced) == .changed)
  }

  @Test func manyThreads() async throws {
    let good = try Fixtures.signed(by: .secp256k1)
    let bad = try good.replacing("733a", by: "733b")
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<64 {
        group.addTask {
          switch number % 3 {
          case 0: (try? verify(good)) != nil
          case 1: (try? verify(bad)) == nil
          default: (try? XMLDocument(parsing: [UInt8]("<a>&x;</a>".utf8))) == nil
          }
        }
      }
      for await result in group { #expect(result) }
    }
  }
}
