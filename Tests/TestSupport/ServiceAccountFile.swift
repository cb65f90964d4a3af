internal import Foundation

/// The file of a service account of Google's, which pushes to FCM.
package enum ServiceAccountFile {
  /// Makes the file.
  ///
  /// - Parameters:
  ///   - tokenURL: the URL at which the account gets its tokens.
  ///   - changes: the members that have other values, or are left out.
  package static func bytes(
    tokenURL: String, _ changes: [String: String?] = [:]
  ) throws -> [UInt8] {
    let certificates = try TestCertificates.shared.get()
    var members: [String: String] = [
      "type": "service_account", "project_id": "wallet-1", "private_key_id": "key-1",
      "private_key": try String(contentsOfFile: certificates["rsa"].key, encoding: .utf8),
      "client_email": "push@wallet-1.iam.gserviceaccount.com", "token_uri": tokenURL,
    ]
    for (name, value) in changes { members[name] = value }
    return Array(try JSONSerialization.data(withJSONObject: members))
  }
}
