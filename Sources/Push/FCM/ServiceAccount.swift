internal import Cryptography
internal import Formats

/// A service account of Google's, which access tokens are granted to.
package struct ServiceAccount: Sendable {
  private static let needed = [
    "client_email", "private_key", "private_key_id", "token_uri", "project_id",
  ]

  /// The account's name.
  package let email: String
  /// The name of its key at Google.
  let keyID: String
  /// The URL that access tokens are granted at.
  let tokenURL: String
  /// The project that is pushed for: the configured one, else the account's.
  package let project: String
  /// Its key.
  let key: SigningKey

  /// Reads the file that Google gives out; blocks on the disk.
  ///
  /// - Throws: ``PushSetupError`` that names the file and what it lacks.
  package init(_ configuration: FCMConfiguration) throws(PushSetupError) {
    let path = configuration.credentials
    var json = try contents(ofKeyFile: path)
    defer { wipe(&json) }
    func fault(_ words: String) -> PushSetupError { PushSetupError(message: "\(path): \(words)") }
    guard let members = JSONObjectReader.members(of: json) else { throw fault("no JSON object") }
    var texts: [String: String] = [:]
    for member in members {
      if case .text(let text) = member.value, !text.isEmpty { texts[member.name] = text }
    }
    let missing = Self.needed.filter { texts[$0] == nil }
    guard missing.isEmpty else { throw fault("lacks \(missing.joined(separator: ", "))") }
    func text(_ name: String) -> String { texts[name, default: ""] }
    (email, keyID) = (text("client_email"), text("private_key_id"))
    tokenURL = text("token_uri")
    project = configuration.project.isEmpty ? text("project_id") : configuration.project
    guard (email + keyID).utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      project.utf8.allSatisfy({ $0.isLetterOrDigit || ".:-".utf8.contains($0) }),
      WebURL(tokenURL, schemes: ["https"]) != nil
    else { throw fault("client_email, private_key_id, project_id or token_uri is malformed") }
    guard let key = SigningKey(rsaPEM: Array(text("private_key").utf8)) else {
      throw fault("private_key is no PEM key of RSA with 2,048 bits or more without a password")
    }
    self.key = key
  }
}
