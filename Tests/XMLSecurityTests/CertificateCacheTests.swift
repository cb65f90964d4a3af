internal import Foundation
internal import TestSupport
internal import Testing

@testable import XMLSecurity

@Suite(.ownThreads) struct CertificateCacheTests {
  private func document(of text: String) throws -> XMLDocument {
    try XMLDocument(parsing: [UInt8]("<a>\(text)</a>".utf8))
  }

  private func certificate(
    _ text: String, _ cache: CertificateCache
  ) throws -> Certificate? {
    try cache.certificate(in: document(of: text).root)
  }

  @Test func aTextIsReadOnce() throws {
    let cache = CertificateCache()
    let first = Data(try Fixtures.certificate(.p256).der).base64EncodedString()
    let second = Data(try Fixtures.certificate(.rsa).der).base64EncodedString()
    let found = try #require(try certificate(first, cache))
    #expect(try certificate(second, cache) == Fixtures.certificate(.rsa))
    #expect(try certificate(first, cache)?.handle === found.handle)
    #expect(try found == Fixtures.certificate(.p256))
  }

  @Test func whatIsNoCertificateIsNeverKept() throws {
    let cache = CertificateCache()
    let text = Data(try Fixtures.certificate(.p256).der).base64EncodedString()
    #expect(try certificate(text, cache) != nil)
    for wrong in ["", "AAAA", String(text.dropLast(8)), text + "AAAA", "!" + text] {
      for _ in 0..<2 { #expect(try certificate(wrong, cache) == nil, "\(wrong)") }
    }
  }

  @Test func itsSizeIsLimited() throws {
    let cache = CertificateCache()
    let text = Data(try Fixtures.certificate(.p256).der).base64EncodedString()
    let found = try #require(try certificate(text, cache))
    // White space makes other texts of the same certificate.
    for count in 1...200 {
      #expect(try certificate(String(repeating: "\n", count: count) + text, cache) == found)
    }
    let again = try #require(try certificate(text, cache))
    #expect(again == found)
    #expect(again.handle !== found.handle)
  }

  @Test func aKnownCertificateProvesNothing() throws {
    let verifier = SignatureVerifier()
    func code(_ text: String) throws -> SignatureError.Code? {
      do {
        _ = try verifier.verify(XMLDocument(parsing: [UInt8](text.utf8)))
        return nil
      } catch let error as SignatureError {
        return error.code
      }
    }
    let signed = try Fixtures.signed(by: .rsa)
    let other = try Fixtures.signed(by: .p256)
    for _ in 0..<2 {
      #expect(try code(signed) == nil)
      #expect(try code(other) == nil)
      #expect(try code(signed.replacing("Entry &amp; exit", by: "Exit")) == .changed)
    }
    let value = try signed.part(from: "<ds:SignatureValue>", through: "</ds:SignatureValue>")
    let forged = try Fixtures.signed(Fixtures.unsigned.replacing("entry", by: "exit"), by: .rsa)
      .part(from: "<ds:SignatureValue>", through: "</ds:SignatureValue>")
    #expect(try code(signed.replacing(value, by: forged)) == .forged)
  }
}
