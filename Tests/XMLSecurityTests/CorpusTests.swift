internal import Foundation
internal import Testing
internal import XMLSecurity

/// Verifies every file of a folder of signed files, if `AWD_CORPUS` names one.
@Suite struct CorpusTests {
  static let folder = ProcessInfo.processInfo.environment["AWD_CORPUS"]

  static var files: [String] {
    guard let folder else { return [] }
    return FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }
      .filter { $0.hasSuffix(".tsml") || $0.hasSuffix(".xml") }.sorted() ?? []
  }

  @Test(.enabled(if: folder != nil), arguments: files)
  func holds(file: String) throws {
    let folder = try #require(Self.folder)
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: folder + "/" + file)))
    let document = try XMLDocument(parsing: bytes)
    let signatures = try SignatureVerifier().verify(document)
    #expect(signatures.count == 1)
    #expect(try SignatureVerifier().verify(document) == signatures)
  }
}
