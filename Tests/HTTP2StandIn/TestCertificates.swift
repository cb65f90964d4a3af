internal import Foundation

/// Keys and certificates of one test run, made by openssl: an authority, a server at 127.0.0.1, a
/// client, and a key that signs tokens.
public struct TestCertificates: Sendable {
  /// openssl can't make them.
  public struct Failure: Error {}

  private let folder: String

  /// The authority's certificate.
  public var authority: String { folder + "/ca.pem" }
  /// The authority's key.
  public var authorityKey: String { folder + "/ca.key" }
  /// The server's certificate and key.
  public var server: (certificate: String, key: String) {
    (folder + "/server.pem", folder + "/server.key")
  }
  /// The client's certificate and key.
  public var client: (certificate: String, key: String) {
    (folder + "/client.pem", folder + "/client.key")
  }
  /// A private key on P-256, PKCS #8.
  public var tokenKey: String { folder + "/token.p8" }
  /// The public key to ``tokenKey``.
  public var tokenPublicKey: String { folder + "/token.pub" }
  /// A private key on P-384, PKCS #8.
  public var otherCurveKey: String { folder + "/p384.p8" }

  /// Those of this run.
  public static let shared = Result { try TestCertificates() }

  private init() throws {
    folder = FileManager.default.temporaryDirectory.path + "/awd-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-ec", Self.script]
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure() }
  }

  private static let script = """
    new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    openssl req -x509 $new -subj /CN=authority -keyout ca.key -out ca.pem
    for who in server client; do
      openssl req -x509 $new -subj /CN=$who -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
        -addext basicConstraints=CA:FALSE -CA ca.pem -CAkey ca.key -keyout $who.key -out $who.pem
    done
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out token.p8
    openssl pkey -in token.p8 -pubout -out token.pub
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out p384.p8
    """
}
