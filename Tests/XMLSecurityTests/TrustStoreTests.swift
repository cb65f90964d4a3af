internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@Suite(.ownThreads) struct TrustStoreTests {
  /// A root, an intermediate and a leaf that the openssl command made.
  private struct Chain {
    let folder: TemporaryFolder
    let root, intermediate, leaf: Certificate

    init() throws {
      let folder = TemporaryFolder()
      self.folder = folder
      try folder.write("ca.ext", "basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\n")
      try folder.write("leaf.ext", "subjectAltName=DNS:aw.app\n")
      func certificate(
        _ name: String, subject: String, issuer: String?, extensions: String
      ) throws -> Certificate {
        let request = try folder.run(
          "openssl",
          [
            "req", "-utf8", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", "\(name).key",
            "-subj", subject,
            "-out", "\(name).csr",
          ])
        let signer =
          issuer.map { ["-CA", "\($0).pem", "-CAkey", "\($0).key", "-CAcreateserial"] }
          ?? ["-signkey", "\(name).key"]
        let made = try folder.run(
          "openssl",
          [
            "x509", "-req", "-in", "\(name).csr", "-days", "30", "-extfile", extensions,
            "-out", "\(name).pem",
          ] + signer)
        guard request.code == 0, made.code == 0 else { throw FixtureError() }
        let pem = try Data(contentsOf: URL(filePath: folder.path + "/\(name).pem"))
        guard let certificate = try Certificate.certificates(pem: [UInt8](pem)).first else {
          throw FixtureError()
        }
        return certificate
      }
      root = try certificate("root", subject: "/CN=Root", issuer: nil, extensions: "ca.ext")
      intermediate = try certificate(
        "intermediate", subject: "/O=Example, Inc./CN=Intermediate", issuer: "root",
        extensions: "ca.ext")
      leaf = try certificate(
        "leaf", subject: "/C=AU/O=Ünï/CN=first/CN=*.aw.app", issuer: "intermediate",
        extensions: "leaf.ext")
    }

    func store(_ name: String) throws -> TrustStore {
      try TrustStore(rootsFile: folder.path + "/\(name).pem")
    }
  }

  @Test func chain() throws {
    let chain = try Chain()
    let store = try chain.store("root")
    let now = chain.leaf.notBefore + .seconds(3600)
    let others = [chain.intermediate, chain.root]
    #expect(store.check(chain.leaf, others: others, at: now) == .trusted)
    #expect(store.check(chain.leaf, others: others.reversed(), at: now) == .trusted)
    #expect(store.check(chain.leaf, others: [chain.intermediate], at: nil) == .trusted)
    #expect(store.check(chain.leaf, others: [], at: now) != .trusted)
    #expect(
      store.check(chain.leaf, others: others, at: chain.leaf.notAfter + .seconds(86_400))
        != .trusted)
    #expect(
      store.check(chain.leaf, others: others, at: chain.root.notBefore - .seconds(86_400))
        != .trusted)
    #expect(store.check(try Fixtures.certificate(.p256), others: others, at: nil) != .trusted)
    // A certificate in the chain does not become a root.
    let foreign = try Chain()
    #expect(
      store.check(foreign.leaf, others: [foreign.intermediate, foreign.root], at: nil) != .trusted)
    guard case .untrusted(let reason) = store.check(chain.leaf, others: [], at: now) else { return }
    #expect(reason.contains("CN=*.aw.app"))
  }

  /// An intermediate or a signer's own certificate among the roots is trusted.
  @Test func anchors() throws {
    let chain = try Chain()
    #expect(try chain.store("intermediate").check(chain.leaf, others: [], at: nil) == .trusted)
    #expect(try chain.store("leaf").check(chain.leaf, others: [], at: nil) == .trusted)
    #expect(
      try chain.store("leaf").check(chain.intermediate, others: [chain.root], at: nil) != .trusted)
  }

  @Test func facts() throws {
    let chain = try Chain()
    #expect(chain.leaf.commonName == "*.aw.app")
    #expect(chain.leaf.subject == "CN=*.aw.app,CN=first,O=Ünï,C=AU")
    #expect(chain.leaf.issuer == "CN=Intermediate,O=Example\\, Inc.")
    #expect(chain.leaf.signatureAlgorithm == "SHA256withECDSA")
    #expect(try Fixtures.certificate(.rsa).signatureAlgorithm == "SHA256withRSA")
    #expect(chain.leaf.notBefore.duration(to: chain.leaf.notAfter) == .seconds(30 * 86_400))
    #expect(
      try Fixtures.certificate(.secp256k1).notBefore == Fixtures.signingTime - .seconds(86_400))
  }

  /// A chain that has expired since the signing time is trusted.
  @Test func expired() throws {
    let folder = TemporaryFolder()
    let key = try DevelopmentKey(
      .p256, commonName: "old", notBefore: Timestamp(seconds: 1_577_836_800), days: 30)
    let certificate = try #require(try Certificate.certificates(pem: key.certificatePEM).first)
    let store = try TrustStore(rootsFile: try folder.write("roots.pem", key.certificatePEM))
    #expect(
      store.check(certificate, others: [], at: Timestamp(seconds: 1_577_836_800 + 86_400))
        == .trusted)
    #expect(store.check(certificate, others: [], at: nil) == .trusted)
    #expect(store.check(certificate, others: [], at: Timestamp(seconds: 1_704_067_200)) != .trusted)
  }

  @Test func signatures() throws {
    let folder = TemporaryFolder()
    let roots = try folder.write("roots.pem", Fixtures.key(.rsa).certificatePEM)
    let store = try TrustStore(rootsFile: roots)
    let certified = try #require(try verify(Fixtures.signed(by: .rsa)).first)
    #expect(store.check(certified, at: certified.signingTime) == .trusted)
    let bare = try #require(try verify(Fixtures.signed(by: .rsa, withCertificate: false)).first)
    #expect(store.check(bare, at: bare.signingTime) != .trusted)
  }

  @Test func unreadableRoots() throws {
    let folder = TemporaryFolder()
    #expect(throws: CertificateError.self) {
      try TrustStore(rootsFile: folder.path + "/missing.pem")
    }
    let empty = try folder.write("empty.pem", "nothing\n")
    #expect(throws: CertificateError.self) { try TrustStore(rootsFile: empty) }
  }
}
