internal import COpenSSL
internal import Testing

@testable internal import Cryptography

@Suite struct PEMTests {
  @Test func readsCertificatesInOrder() {
    let text = PEMTexts.key + PEMTexts.certificate + "words between\n" + PEMTexts.otherCertificate
    let (certificates, isWhole) = PEM.certificates(in: Array(text.utf8))
    #expect(certificates.count == 2 && isWhole)
    #expect(certificates.first?.notBefore == certificates.last?.notBefore)
    #expect(certificates.first?.notAfter != certificates.last?.notAfter)
  }

  @Test func tellsWhereAMalformedCertificateStands() {
    let broken = PEMTexts.otherCertificate.replacing("\nM", with: "\n-")
    for text in [
      PEMTexts.certificate + broken, PEMTexts.certificate + broken + PEMTexts.certificate,
    ] {
      let (certificates, isWhole) = PEM.certificates(in: Array(text.utf8))
      #expect(certificates.count == 1 && !isWhole)
    }
  }

  @Test(arguments: ["", "words", "-----BEGIN CERTIFICATE", PEMTexts.key])
  func findsNoCertificate(_ text: String) {
    #expect(PEM.certificates(in: Array(text.utf8)).certificates.isEmpty)
  }

  @Test(arguments: [PEMTexts.key, PEMTexts.traditionalKey, PEMTexts.certificate + PEMTexts.key])
  func readsKeys(_ text: String) throws {
    #expect(try PEM.privateKey(in: Array(text.utf8)).group == "prime256v1")
  }

  @Test(arguments: [
    ("", PEM.KeyError.noKey), (PEMTexts.certificate, .noKey),
    (PEMTexts.key.replacing("\nM", with: "\n-"), .noKey), (PEMTexts.encryptedKey, .encrypted),
  ])
  func saysWhyThereIsNoKey(_ text: String, _ error: PEM.KeyError) {
    #expect(throws: error) { try PEM.privateKey(in: Array(text.utf8)) }
  }
}

/// Keys and certificates that were made for these tests.
enum PEMTexts {
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBdTCCARugAwIBAgIUQhwDEpmkUNFWmNF8SMKCw7wN47kwCgYIKoZIzj0EAwIw
    EDEOMAwGA1UEAwwFZmlyc3QwHhcNMjYxMTIyMTIzNTMwWhcNNDYxMTE3MTIzNTMw
    WjAQMQ4wDAYDVQQDDAVmaXJzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMf8
    gWri37NxD4W5J/ljYRSPnfNyYykW0V66YtGAsWYUHHXWiYewu9h0epiXVis4msCD
    JJXuETfkrSoH+YqwB8mjUzBRMB0GA1UdDgQWBBSVah5DXMN9rWaLs3/epaZcr4zI
    OzAfBgNVHSMEGDAWgBSVah5DXMN9rWaLs3/epaZcr4zIOzAPBgNVHRMBAf8EBTAD
    AQH/MAoGCCqGSM49BAMCA0gAMEUCIA2ORz3/SebDrOqZTAdRdYiN/Sq3XMrhpefu
    77Qi3HdYAiEAk4oSzvICCaSpaoXjTvPvWL33E8kEpx9Yg82ptmdMdTY=
    -----END CERTIFICATE-----

    """
  static let otherCertificate = """
    -----BEGIN CERTIFICATE-----
    MIIBtDCCATqgAwIBAgIUS14opv0Y/0eyA3dqTGpPzBJ2VKEwCgYIKoZIzj0EAwIw
    ETEPMA0GA1UEAwwGc2Vjb25kMB4XDTI2MTEyMjEyMzUzMFoXDTM2MTExOTEyMzUz
    MFowETEPMA0GA1UEAwwGc2Vjb25kMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEFtVy
    heVkHQsfXUSeX6tE9NZVTci2bCmREn1sjyV5ndBPWfi9I2w1kPfH+/tPCNy6CKmf
    0HCfFXcnwIZ1XJ/YPBQOe46Qof3xq4/UEHt6m4p5OiRhp4FhtW7pey/DfWz/o1Mw
    UTAdBgNVHQ4EFgQUDuVzTVqkbKni73BZcXzAY+4KdJQwHwYDVR0jBBgwFoAUDuVz
    TVqkbKni73BZcXzAY+4KdJQwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNo
    ADBlAjEAjVq2fj3D1Bo5t+HM15bQMFBMAH48bjmyQLDzUdQRLhrak0bRWHw/zy3v
    yWj+WNjhAjAmFbuhyuN/8FuX40kYd/CyYRrkR0qvFHtDHJGoD5izqE5v6c/q6iR8
    38aM4R0ikNo=
    -----END CERTIFICATE-----

    """
  /// The key of ``certificate``, on P-256.
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLWt/E+jx0QE2qAiJ
    AckzX5A4IK4zMD5pNyuyeYa/ZwqhRANCAATH/IFq4t+zcQ+FuSf5Y2EUj53zcmMp
    FtFeumLRgLFmFBx11omHsLvYdHqYl1YrOJrAgySV7hE35K0qB/mKsAfJ
    -----END PRIVATE KEY-----

    """
  /// The same key as OpenSSL wrote keys before PKCS #8.
  static let traditionalKey = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIC1rfxPo8dEBNqgIiQHJM1+QOCCuMzA+aTcrsnmGv2cKoAoGCCqGSM49
    AwEHoUQDQgAEx/yBauLfs3EPhbkn+WNhFI+d83JjKRbRXrpi0YCxZhQcddaJh7C7
    2HR6mJdWKziawIMkle4RN+StKgf5irAHyQ==
    -----END EC PRIVATE KEY-----

    """
  /// The same key under a passphrase.
  static let encryptedKey = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi0GGII5MjCOwICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECKO/rDBSZOBZO2qMoWAiQcEgZCZ
    gNtts7FlInJ4ReliYbYV+/R4ms5GLuuzLl6uXuLv1bnsJUNDSWGMcCPMp/zOoE65
    RfFET/ohf6PbmU3u/wh1KQHoSmd8CnV2oWwkkhtTky8rfDuIZD/1DQh5wZEbJ1Sn
    AJzmgfhv2+2iwNrAfdYbljW0NYRBY7vZyLQF8AFqdcmmwvx+HlPVGBFDSDy4tho=
    -----END ENCRYPTED PRIVATE KEY-----

    """
  static let p384Key = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAbrkC2j9YdJyXpd3LC
    KZha+L3oaYrWVeELr3OLJ0MuS8er+XCy8gZg69Z9d5rEymKhZANiAAQW1XKF5WQd
    Cx9dRJ5fq0T01lVNyLZsKZESfWyPJXmd0E9Z+L0jbDWQ98f7+08I3LoIqZ/QcJ8V
    dyfAhnVcn9g8FA57jpCh/fGrj9QQe3qbink6JGGngWG1bul7L8N9bP8=
    -----END PRIVATE KEY-----

    """
  static let secp256k1Key = """
    -----BEGIN PRIVATE KEY-----
    MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgx5DpNb6idjkJlW3YJbuP
    4SQubhaWcdkc/+eMP3RYstGhRANCAATE8aIWpYVhT1Mnbmr2HkUtfeDhBX3aNRsb
    TEVzG3ki4x7pdxz0eI2wlEVRTL+uUIU6rFi4cl/v+6x49yCCoeX+
    -----END PRIVATE KEY-----

    """
  static let ed25519Key = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIFPUrBD3KOZRgRX/+zoxlgslt347kgQ2n2Vc0eyS9OIw
    -----END PRIVATE KEY-----

    """
}
