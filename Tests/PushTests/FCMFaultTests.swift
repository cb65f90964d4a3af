internal import Configuration
internal import Foundation
internal import TestSupport
internal import Testing

@testable import Push

/// The bodies of FCM's refusals, and the files of service accounts.
struct FCMFaultTests {
  private func fault(_ json: String) -> FCMFault { FCMFault(json: Array(json.utf8)) }

  private func fault(details: String, message: String = "m") -> FCMFault {
    fault(#"{"error":{"code":1,"message":"\#(message)","status":"S","details":\#(details)}}"#)
  }

  private static let entry = #""@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError""#

  @Test func theStatusIsGooglesWord() {
    #expect(fault(#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#).status == "UNAVAILABLE")
    #expect(fault(#"{"error":{"status":"not a word"}}"#).status == nil)
    #expect(fault(#"{"error":{}}"#).status == nil)
  }

  @Test func givesFCMsCode() {
    #expect(
      fault(details: "[{\(Self.entry),\"errorCode\":\"UNREGISTERED\"}]").code == "UNREGISTERED")
    let others = #"{"@type":"x.ErrorInfo","errorCode":"B"},{"reason":"x"}"#
    #expect(fault(details: "[\(others)]").code == nil)
    #expect(fault(details: "[\(others),{\(Self.entry),\"errorCode\":\"C_1\"}]").code == "C_1")
  }

  @Test(arguments: [
    "", "no JSON", "[]", "{", #"{"error":1}"#, #"{"error":{}}"#, #"{"error":{"details":1}}"#,
    #"{"error":{"status":"NOT_FOUND"}}"#,
    "{\"error\":{\"details\":[{\(entry),\"errorCode\":\"two words\"}]}}",
    "{\"error\":{\"details\":[{\(entry),\"errorCode\":\"\"}]}}",
    "{\"error\":{\"details\":[{\(entry),\"errorCode\":\"" + String(repeating: "X", count: 65)
      + "\"}]}}",
    String(repeating: "[", count: 10_000), #"{"error":"# + String(repeating: "[", count: 10_000),
  ])
  func takesNothingElse(json: String) {
    #expect(fault(json).code == nil)
    #expect(!fault(json).isOfToken)
  }

  @Test func tellsWhetherTheTokenIsMeant() {
    func violation(_ field: String) -> FCMFault {
      fault(
        details: #"[{"@type":"x.BadRequest","fieldViolations":[{"field":"\#(field)"}]}]"#)
    }
    #expect(violation("message.token").isOfToken)
    #expect(!violation("message.data[0].value").isOfToken)
    let words = "The registration token is not a valid FCM registration token"
    #expect(fault(details: "[]", message: words).isOfToken)
    #expect(!fault(details: "[]", message: "Request contains an invalid argument.").isOfToken)
  }

  // MARK: - Service accounts

  private let folder = TemporaryFolder()

  private func read(_ file: [UInt8]?, project: String = "") throws -> ServiceAccount {
    let path = "\(folder.path)/fcm.json"
    if let file { try Data(file).write(to: URL(filePath: path)) }
    let toml = "[fcm]\ncredentials = \"\(path)\"\nproject = \"\(project)\"\n"
    let document = try ConfigurationDocument(parsing: Array(toml.utf8), file: "/awd.toml")
    let section = ConfigurationReader(document).section("fcm")
    return try ServiceAccount(try #require(FCMConfiguration(section)))
  }

  private func words(_ changes: [String: String?]) throws -> String {
    do {
      _ = try read(try ServiceAccountFile.bytes(tokenURL: "https://127.0.0.1/token", changes))
      return ""
    } catch let error as PushSetupError {
      return error.message.replacing("\(folder.path)/fcm.json: ", with: "")
    }
  }

  @Test func readsAnAccount() throws {
    let account = try read(try ServiceAccountFile.bytes(tokenURL: "https://127.0.0.1/token"))
    #expect(account.project == "wallet-1" && account.keyID == "key-1")
    #expect(account.tokenURL == "https://127.0.0.1/token")
    #expect(try read(nil, project: "other-2").project == "other-2")
    #expect(throws: PushSetupError.self) { try read(nil, project: "a/b") }
  }

  @Test func saysWhatAFileLacks() throws {
    #expect(throws: PushSetupError.self) { try read(nil) }
    #expect(try words(["project_id": nil]) == "lacks project_id")
    #expect(try words(["private_key": nil, "token_uri": ""]) == "lacks private_key, token_uri")
    let certificates = try TestCertificates.shared.get()
    func key(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
    for other in [
      try key(certificates.tokenKey), try key(certificates["weak"].key),
      try key(certificates.path("locked.key")), try key(certificates["rsa"].certificate), "x",
    ] {
      #expect(try words(["private_key": other]).hasPrefix("private_key is no PEM key of RSA"))
    }
    #expect(try words(["token_uri": "http://h/token"]).hasSuffix("is malformed"))
    #expect(try words(["project_id": "a/b"]).hasSuffix("is malformed"))
    #expect(try words(["client_email": "a\nb"]).hasSuffix("is malformed"))
    for file in ["", "no JSON", "[]", "null", "{", "{} x"] {
      #expect(throws: PushSetupError.self) { try read(Array(file.utf8)) }
    }
    #expect(throws: PushSetupError.self) {
      try read([UInt8](repeating: UInt8(ascii: " "), count: 100_000))
    }
  }
}
