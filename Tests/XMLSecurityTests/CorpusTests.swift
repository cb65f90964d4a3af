internal import Foundation
internal import Testing
internal import XMLSecurity

/// Files that another implementation has signed; `Signed/make.sh` makes them.
@Suite struct CorpusTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Signed").path

  @Test(arguments: [
    ("rsa-certificate", PublicKey.Kind.rsa), ("rsa-key", .rsa), ("rsa-sha512", .rsa),
    ("prime256v1-certificate", .p256), ("secp256k1-certificate", .secp256k1),
  ])
  func holds(name: String, kind: PublicKey.Kind) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(Self.folder)/\(name).xml")))
    let document = try XMLDocument(parsing: bytes)
    let signatures = try SignatureVerifier().verify(document)
    #expect(signatures.map(\.key.kind) == [kind])
    #expect(try SignatureVerifier().verify(document) == signatures)
  }
}
