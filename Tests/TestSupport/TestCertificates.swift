internal import Foundation

/// Keys and certificates of one test run, made by openssl.
package struct TestCertificates: Sendable {
  /// A certificate and its key, as paths of PEM files.
  package typealias Pair = (certificate: String, key: String)

  /// The error of an openssl that cannot make them.
  package struct Failure: Error, CustomStringConvertible {
    /// The output of openssl.
    package let description: String
  }

  private let folder: TemporaryFolder

  /// The certificates of this run.
  package static let shared = Result { try TestCertificates() }

  private init() throws {
    folder = TemporaryFolder()
    let outcome = try ChildProcess.run("/bin/sh", ["-ec", Self.script], in: folder.path)
    guard outcome.code == 0 else { throw Failure(description: outcome.errors) }
  }

  private static let script = """
    ec="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names="-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    openssl req -x509 $ec -subj /CN=authority -keyout ca.key -out ca.pem
    for name in server client; do
      openssl req -x509 $ec -subj /CN=$name $names -addext basicConstraints=CA:FALSE \
        -CA ca.pem -CAkey ca.key -keyout $name.key -out $name.pem
    done
    for name in first second; do
      openssl req -x509 $ec -subj /CN=$name $names -keyout $name.key -out $name.pem
    done
    rsa="-nodes -days 2 -newkey"
    openssl req -x509 $rsa rsa:2048 -subj /CN=rsa $names -keyout rsa.key -out rsa.pem
    openssl req -x509 $rsa rsa:1024 -subj /CN=weak -keyout weak.key -out weak.pem
    openssl pkey -in first.key -aes256 -passout pass:x -out locked.key
    cat first.pem second.pem > chain.pem
    sed 's/^M/-/' first.pem > broken.pem
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out token.p8
    openssl pkey -in token.p8 -pubout -out token.pub
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out p384.p8
    """

  /// An authority.
  package var authority: Pair { self["ca"] }
  /// A server at 127.0.0.1 and localhost, certified by the authority.
  package var server: Pair { self["server"] }
  /// A client, certified by the authority.
  package var client: Pair { self["client"] }
  /// A private key on P-256, PKCS #8.
  package var tokenKey: String { path("token.p8") }
  /// The public key to ``tokenKey``.
  package var tokenPublicKey: String { path("token.pub") }
  /// A private key on P-384, PKCS #8.
  package var otherCurveKey: String { path("p384.p8") }

  /// A certificate and its key by name.
  ///
  /// - Parameter name: `first` and `second` are servers at localhost and 127.0.0.1 that certify themselves, `rsa` another
  ///   with RSA; `weak` has a key that is too short.
  package subscript(name: String) -> Pair { (path("\(name).pem"), path("\(name).key")) }

  /// Returns the path of a file.
  ///
  /// - Parameter name: `locked.key` is encrypted, `chain.pem` holds `first` and `second`, and `broken.pem` no certificate.
  package func path(_ name: String) -> String { "\(folder.path)/\(name)" }

  /// Reads a file.
  ///
  /// - Parameter name: as for ``path(_:)``.
  package func read(_ name: String) throws -> [UInt8] { try folder.read(name) }
}
