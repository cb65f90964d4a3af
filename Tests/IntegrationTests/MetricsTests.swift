internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

/// The metrics that the example alerts and the dashboard use exist.
@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
  /// Returns all names of time series of a text in Prometheus's format.
  private func names(in exposition: String) -> Set<String> {
    var names: Set<String> = []
    for line in exposition.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ")
      let endings = words[3] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
      names.formUnion(endings.map { "\(words[2])\($0)" })
    }
    return names
  }

  @Test(arguments: ["alerts.yml", "grafana-dashboard.json"])
  func whatIsNamedIsThere(_ file: String) async throws {
    let site = try Site()
    let key = try DevelopmentKey(
      .p256, commonName: "localhost", notBefore: Timestamp(seconds: 1_500_000_000))
    let (certificate, secret) = ("\(site.folder)/cert.pem", "\(site.folder)/key.pem")
    try Data(key.certificatePEM).write(to: URL(filePath: certificate))
    try Data(key.keyPEM).write(to: URL(filePath: secret))
    let account = [
      "client_email": "push@wallet-1.example", "project_id": "wallet-1", "private_key_id": "1",
      "private_key": try String(
        contentsOfFile: TestCertificates.shared.get()["rsa"].key, encoding: .utf8),
      "token_uri": "https://127.0.0.1:1/token",
    ]
    let credentials = "\(site.folder)/fcm.json"
    try JSONSerialization.data(withJSONObject: account).write(to: URL(filePath: credentials))
    try site.configure(
      services: Site.services + ["pushserver"], listen: "https://127.0.0.1:0",
      server: """
        tls = { certificate = "\(certificate)", key = "\(secret)" }
        admin_listen = "http://127.0.0.1:\(site.port)"
        public_url = "https://push.example"
        """,
      rest: """
        push = "on"
        [pushserver]
        relay_key = "\(String(repeating: "a5", count: 32))"
        [push.fcm]
        credentials = "\(credentials)"
        """)
    let exposed = try await site.serving { _ in names(in: try await site.get("/metrics")) }

    let config = URL(filePath: #filePath).appending(path: "../../../config").standardized
    let text = try String(contentsOf: config.appending(path: file), encoding: .utf8)
    let named = Set(text.matches(of: /\bawd_[a-z0-9_]+/).map { String($0.output) })
    #expect(named.count > 10)
    #expect(named.subtracting(exposed).sorted() == [])
  }
}
