internal import Cryptography
internal import TestSupport
internal import Testing
internal import Platform

@Suite struct TLSCredentialsTests {
  @Test(arguments: [
    ("first.pem", "second.key", TLSError.mismatch), ("first.pem", "locked.key", .encryptedKey),
    ("first.key", "first.key", .noCertificate), ("first.pem", "first.pem", .noKey),
    ("broken.pem", "first.key", .malformedCertificate(1)),
    ("weak.pem", "weak.key", .refused("ee key too small")),
  ])
  func saysWhatIsWrong(_ certificate: String, _ key: String, _ error: TLSError) throws {
    let keys = try TestCertificates.shared.get()
    #expect(throws: error) {
      _ = try TLSCredentials(certificate: keys.read(certificate), key: keys.read(key))
    }
  }

  @Test func knowsItsTime() throws {
    let keys = try TestCertificates.shared.get()
    let credentials = try TLSCredentials(
      certificate: keys.read("chain.pem"), key: keys.read("first.key"))
    let now = Timestamp.now()
    let remaining = now.duration(to: credentials.notAfter)
    #expect(credentials.isValid(at: now))
    #expect(abs(remaining.components.seconds - 2 * 86_400) < 600)
    #expect(!credentials.isValid(at: credentials.notAfter + .seconds(1)))
    #expect(!credentials.isValid(at: credentials.notBefore - .seconds(1)))
  }
}
