internal import Foundation
internal import Testing

/// A certificate authority of one test run, made by openssl: a server at 127.0.0.1, and a client.
struct TestCertificates: Sendable {
  let folder: String
  var authority: String { folder + "/ca.pem" }
  var authorityKey: String { folder + "/ca.key" }
  var server: (certificate: String, key: String) {
    (folder + "/server.pem", folder + "/server.key")
  }
  var client: (certificate: String, key: String) {
    (folder + "/client.pem", folder + "/client.key")
  }

  static let shared = Result { try TestCertificates() }

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
    try #require(process.terminationStatus == 0)
  }

  private static let script = """
    new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    openssl req -x509 $new -subj /CN=authority -keyout ca.key -out ca.pem
    for who in server client; do
      openssl req -x509 $new -subj /CN=$who -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
        -addext basicConstraints=CA:FALSE -CA ca.pem -CAkey ca.key -keyout $who.key -out $who.pem
    done
    """
}
