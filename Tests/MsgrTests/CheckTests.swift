internal import Configuration
internal import Foundation
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// The findings of `awd check` on pushes.
@Suite struct CheckTests {
  private let folder = TemporaryFolder()
  private let certificates: TestCertificates

  init() throws {
    certificates = try TestCertificates.shared.get()
  }

  private func read(_ toml: String) throws -> (MsgrConfiguration, fault: String?) {
    let document = try ConfigurationDocument(
      parsing: Array("[msgr]\n\(toml)".utf8), file: "\(folder.path)/awd.toml"
    ).renaming(PushConfiguration.formerNames)
    let reader = ConfigurationReader(document)
    let configuration = MsgrConfiguration(reader.section("msgr"))
    do { try reader.finish() } catch { return (configuration, "\(error)") }
    return (configuration, nil)
  }

  private func fault(of toml: String) throws -> String? {
    let outcome = try read(toml)
    return outcome.fault
  }

  private func check(
    _ toml: String, isExposed: Bool = true, after: Int64 = 0
  ) throws -> [ContentFinding] {
    let configuration = try self.read(toml).0
    let now = Timestamp(seconds: Timestamp.now().seconds + after)
    let findings = configuration.push.findings(
      configuration.pushServices, hasWeb: true, isExposed: isExposed, at: now)
    // Nobody has said yet that browsers reach the server, which is a doubt once they are pushed to.
    let isContact = { (finding: ContentFinding) in finding.message.contains("contact is not set") }
    #expect(findings.contains(where: isContact) == (configuration.push == .on))
    return findings.filter { !isContact($0) }
  }

  /// Returns the findings on APNs with these credentials, without the first one.
  private func check(apns credentials: String, after: Int64 = 0) throws -> [String] {
    let findings = try check(
      "push = \"apns\"\n[msgr.apns]\ntopic = \"com.example.app\"\n\(credentials)", after: after)
    #expect(
      findings.prefix(2)
        == [
          ContentFinding(.good, "push: on, for apns, web, apns-sandbox"),
          ContentFinding(
            .good, "push: apns, to https://api.push.apple.com for com.example.app"),
        ])
    return findings.dropFirst(2).map { "\($0.grade) \($0.message)" }
  }

  private func check(key path: String) throws -> [String] {
    try check(apns: "key = \"\(path)\"\nkey_id = \"KEYID12345\"\nteam_id = \"TEAMID1234\"")
  }

  /// A copy of a file with the given permissions.
  private func copy(_ path: String, mode: Int = 0o600) throws -> String {
    let copy = "\(folder.path)/\(UUID().uuidString)"
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: copy)
    return copy
  }

  @Test func browsersArePushedToInAnyCase() throws {
    #expect(
      try check("").first
        == .good(
          "push: off: browsers are pushed to; apps on phones get messages only while they are open")
    )
  }

  @Test(arguments: ["push = \"log\"\n", "push = \"log\"\ndebug_pushes = true\n"])
  func theLogReachesNoPhones(_ toml: String) throws {
    #expect(try check(toml, isExposed: false).map(\.grade) == [.good])
    let finding = try #require(try check(toml).first)
    #expect(finding.grade == .doubtful)
    #expect(finding.message.contains("writes every payload") == toml.contains("debug"))
  }

  @Test func theServicePassesOnWhetherItIsExposed() async throws {
    let document = try ConfigurationDocument(
      parsing: Array("[msgr]\npush = \"log\"\n".utf8), file: "/awd.toml")
    let section = ConfigurationReader(document).section("msgr")
    let configuration = MsgrConfiguration(section)
    #expect(await configuration.findings(isExposed: true).first?.grade == .doubtful)
    #expect(await configuration.findings(isExposed: false).first?.grade == .good)
  }

  @Test func aTokensKeyIsRead() throws {
    let key = try copy(certificates.tokenKey)
    #expect(try check(key: key) == ["good push key \(key): a key on P-256"])
    let open = try copy(certificates.tokenKey, mode: 0o640)
    #expect(
      try check(key: open) == [
        "good push key \(open): a key on P-256",
        "doubtful push key \(open): other users may read it; chmod 600",
      ])
    let missing = "\(folder.path)/none"
    #expect(
      try check(key: missing) == [
        "wrong push key \(missing): No such file or directory; the service does not start"
      ])
    for file in [certificates.otherCurveKey, certificates.authority.certificate] {
      let other = try copy(file)
      #expect(
        try check(key: other) == [
          "wrong push key \(other): no PEM key on P-256 without a password; "
            + "the service does not start"
        ])
    }
  }

  @Test func aServiceAccountIsRead() throws {
    func check(_ file: [UInt8], project: String = "", mode: Int = 0o600) throws -> [String] {
      let path = "\(folder.path)/\(UUID().uuidString)"
      #expect(
        FileManager.default.createFile(
          atPath: path, contents: Data(file), attributes: [.posixPermissions: mode]))
      let toml =
        "push = \"on\"\n[msgr.fcm]\ncredentials = \"\(path)\"\nproject = \"\(project)\""
      return try self.check(toml).dropFirst().map { finding in
        "\(finding.grade) \(finding.message.replacing(path, with: "FILE"))"
      }
    }
    let account = try ServiceAccountFile.bytes(tokenURL: "https://oauth2.example/token")
    let good =
      "good push: fcm, to https://fcm.googleapis.com for project wallet-1 as "
      + "push@wallet-1.iam.gserviceaccount.com"
    #expect(try check(account) == [good])
    #expect(
      try check(account, project: "other-2")
        == [good.replacing("project wallet-1 as", with: "project other-2 as")])
    #expect(
      try check(account, mode: 0o640) == [
        good, "doubtful push credentials FILE: other users may read it; chmod 600",
      ])
    #expect(
      try check(try ServiceAccountFile.bytes(tokenURL: "", ["private_key": nil])) == [
        "wrong push credentials FILE: lacks private_key, token_uri; the service does not start"
      ])
    #expect(
      try check(Array("x".utf8)) == [
        "wrong push credentials FILE: no JSON object; the service does not start"
      ])
  }

  @Test func pushesNeedAProviderAndGoToThoseThatAreThere() async throws {
    let store = try await Store.open(.memory)
    let log = Log(level: .error, descriptor: -1)
    let apns = "[msgr.apns]\ntopic = \"t\"\nkey = \"k\"\nkey_id = \"K\"\nteam_id = \"T\"\n"
    let fcm = "[msgr.fcm]\ncredentials = \"f.json\"\n"
    let phone = PushFixture.device(1)
    let android = DeviceID(stored: "fcm:" + String(repeating: "a", count: 40))
    let stream = DeviceID(stored: "stream:12345678")
    typealias Case = (setting: String, sections: String, kinds: Set<PushKind>, taken: [DeviceID])
    let all = [phone, android, stream]
    let cases: [Case] = [
      ("off", apns + fcm, [.web], all),
      ("log", apns + fcm, Set(PushKind.allCases), all),
      ("on", apns + fcm, Set(PushKind.allCases), all),
      ("on", fcm, [.fcm, .web], [android, stream]),
      ("on", apns, [.apns, .apnsSandbox, .web], [phone, stream]),
      ("apns", apns, [.apns, .apnsSandbox, .web], [phone, stream]),
      ("apns", apns + fcm, Set(PushKind.allCases), all),
    ]
    for (setting, sections, kinds, taken) in cases {
      let toml = "push = \"\(setting)\"\n\(sections)"
      let (configuration, fault) = try self.read(toml)
      #expect(fault == nil)
      let pushes = Pushes(
        configuration.pushServices, store: store, log: log, metrics: Metrics(), clock: { .now() })
      let queue = pushes.queue(of: "msgr", configuration.push, web: .on)
      #expect(queue.kinds == kinds, "\(toml)")
      func accepts(_ device: DeviceID) -> Bool {
        MessageService.accepts(device, configuration.push, queue.kinds)
      }
      #expect(all.filter(accepts) == taken, "\(toml)")
    }
    #expect(
      try self.fault(of: "push = \"on\"\n")?.contains("expected [push.apns] or [push.fcm]") == true)
    let half = try #require(try self.fault(of: "push = \"on\"\n[msgr.apns]\ntopic = \"t\"\n"))
    #expect(half.contains("push.apns.key") && !half.contains("[push.fcm]"))
    #expect(try self.fault(of: "push = \"apns\"\n" + fcm)?.contains("push.apns.key") == true)
    for bad in ["url = \"http://h\"", "url = \"https://h/x\"", "token_url = \"x\""] {
      #expect(try self.fault(of: "push = \"on\"\n\(fcm)\(bad)\n")?.contains("push.fcm") == true)
    }
    let twice = "push = \"on\"\n\(apns)[push.apns]\ntopic = \"u\"\n"
    let both = try #require(try self.fault(of: twice))
    #expect(both.contains("awd.toml:3:") && both.contains("awd.toml:8:"), "\(both)")
  }

  @Test func aCertificateFitsItsKeyAndIsValid() throws {
    let certificate = certificates.client.certificate
    let key = try copy(certificates.client.key)
    func grades(_ certificate: String, _ key: String, after: Int64 = 0) throws -> [String] {
      try check(apns: "certificate = \"\(certificate)\"\nkey = \"\(key)\"", after: after)
        .map { String($0.prefix { $0 != " " }) }
    }
    // It is made for two days.
    #expect(try grades(certificate, key) == ["doubtful"])
    #expect(try grades(certificate, key, after: -86_400) == ["wrong"])
    #expect(try grades(certificate, key, after: 3 * 86_400) == ["wrong"])
    #expect(try grades(certificate, copy(certificates.tokenKey)) == ["wrong"])
    #expect(try grades(certificate, "\(folder.path)/none") == ["wrong"])
    #expect(try grades(key, key) == ["wrong"])
    #expect(
      try grades(certificate, copy(certificates.client.key, mode: 0o644))
        == ["doubtful", "doubtful"])
    let missing = "\(folder.path)/none"
    #expect(
      try check(
        apns: "certificate = \"\(certificate)\"\nkey = \"\(key)\"\nroots = \"\(missing)\""
      ).last == "wrong push roots \(missing): No such file or directory")
  }
}
