internal import Cryptography
package import Foundation

/// A browser's keys of Web Push, and other programs that decrypt with them: Python's http_ece and py-vapid.
package struct PushReceiver: Sendable {
  /// The error of a push that can't be decrypted, or that another key has signed.
  package struct Refused: Error, CustomStringConvertible {
    /// The output of the programs.
    package let description: String
  }

  private struct Result: Decodable {
    let text: String
    let vapid: Bool
  }

  private static let program = TestTools.program("python")
  /// Whether the programs are on this machine.
  package static let isThere = program != nil

  /// The public key: an uncompressed point on P-256.
  package let key: [UInt8]
  /// The secret that is shared with the server.
  package let secret: [UInt8]
  private let pem: [UInt8]

  /// Makes new keys.
  ///
  /// - Throws: if OpenSSL fails.
  package init() throws {
    let pair = try P256KeyPair()
    guard let pem = pair.pem else { throw Refused(description: "the key has no PEM") }
    (key, secret, self.pem) = (pair.publicKey.bytes, SecureRandom.bytes(16), pem)
  }

  /// The keys as a browser's `PushSubscription` gives them.
  package var subscription: [String: String] {
    ["p256dh": Self.text(key), "auth": Self.text(secret)]
  }

  /// Decrypts a push, and checks who has signed it.
  ///
  /// - Parameters:
  ///   - body: the body of the request.
  ///   - authorization: its field of this name.
  /// - Returns: the content.
  /// - Throws: ``Refused``.
  package func open(_ body: [UInt8], authorization: String?) throws -> Data {
    let input = [
      "key": String(decoding: pem, as: UTF8.self), "auth": Self.text(secret),
      "body": Self.text(body), "authorization": authorization ?? "",
    ]
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "web_push.py")
    guard let program = Self.program else { throw Refused(description: "there is no Python") }
    let outcome = try ChildProcess.run(
      program, [script.path],
      input: String(decoding: try JSONEncoder().encode(input), as: UTF8.self))
    guard outcome.code == 0,
      let result = try? JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8)),
      result.vapid
    else { throw Refused(description: "\(outcome.output) \(outcome.errors)") }
    return Data(result.text.utf8)
  }

  /// Base64 for URLs.
  private static func text(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }
}
