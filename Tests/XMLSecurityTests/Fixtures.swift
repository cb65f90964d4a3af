internal import Foundation
internal import Platform
internal import TestSupport
internal import XMLSecurity

/// Keys and signed documents, made once per run.
enum Fixtures {
  /// 1 January 2024 00:00:00 UTC.
  static let signingTime = Timestamp(seconds: 1_704_067_200)

  static let keys: [PublicKey.Kind: DevelopmentKey] = {
    var keys: [PublicKey.Kind: DevelopmentKey] = [:]
    for kind in PublicKey.Kind.allCases {
      keys[kind] = try? DevelopmentKey(
        kind, commonName: "*.\(kind.rawValue).example", notBefore: signingTime - .seconds(86_400))
    }
    return keys
  }()

  static func key(_ kind: PublicKey.Kind) throws -> DevelopmentKey {
    guard let key = keys[kind] else { throw FixtureError() }
    return key
  }

  static func privateKey(_ kind: PublicKey.Kind) throws -> PrivateKey {
    try PrivateKey(pem: key(kind).keyPEM)
  }

  static func certificate(_ kind: PublicKey.Kind) throws -> Certificate {
    let certificates = try Certificate.certificates(pem: key(kind).certificatePEM)
    guard let certificate = certificates.first else { throw FixtureError() }
    return certificate
  }

  static let unsigned = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!-- not signed -->
    <ts:token xmlns:ts="http://tokenscript.org/2020/03/tokenscript" name="entry">
      <ts:label><ts:string xml:lang="en">Entry &amp; exit</ts:string></ts:label>
      <ts:contract name="Entry"><ts:address network="1">0x63cCEF<!-- skip -->733a</ts:address>
      </ts:contract>
      <ts:code><![CDATA[if (a < b && c > d) { "x" }]]></ts:code>
      <ts:origins><ts:ethereum contract="Entry"/></ts:origins>
    </ts:token>

    """

  static func signed(
    _ document: String = unsigned, by kind: PublicKey.Kind = .p256, withCertificate: Bool = true,
    at time: Timestamp = signingTime
  ) throws -> String {
    let writer = try SignatureWriter(
      key: privateKey(kind), certificates: withCertificate ? [certificate(kind)] : [])
    return String(decoding: try writer.sign([UInt8](document.utf8), at: time), as: UTF8.self)
  }
}

struct FixtureError: Error {}

func verify(_ document: String) throws -> [VerifiedSignature] {
  try verify([UInt8](document.utf8))
}

func verify(_ document: [UInt8]) throws -> [VerifiedSignature] {
  try SignatureVerifier().verify(XMLDocument(parsing: document))
}

extension String {
  /// Returns the text with one occurrence replaced, and fails the test if there is none.
  func replacing(_ old: String, by new: String) throws -> String {
    guard let range = range(of: old) else { throw FixtureError() }
    return replacingCharacters(in: range, with: new)
  }

  /// Returns the part from the first `start` up to and including the next `end`.
  func part(from start: String, through end: String) throws -> String {
    guard let first = range(of: start),
      let last = range(of: end, range: first.upperBound..<endIndex)
    else { throw FixtureError() }
    return String(self[first.lowerBound..<last.upperBound])
  }
}

extension TemporaryFolder {
  /// Runs a command in the folder.
  func run(_ command: String, _ arguments: [String]) throws -> ChildProcess.Outcome {
    try ChildProcess.run(command, arguments, in: path)
  }
}
