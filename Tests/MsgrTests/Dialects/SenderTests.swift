internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

/// The requests of the programs that the guide names, as these programs make them.
@Suite(.ownThreads) struct SenderTests {
  private struct Site {
    let fixture: Fixture
    /// A publisher's token in ntfy's form that reads too, and one in Gotify's.
    let ntfy: String
    let gotify: String

    init() async throws {
      fixture = try await Fixture()
      try await fixture.register("anna")
      ntfy = try await Self.token("scripts", "ntfy", fixture)
      gotify = try await Self.token("g", "gotify", fixture)
    }

    private static func token(
      _ name: String, _ form: String, _ fixture: Fixture
    ) async throws -> String {
      let made = try await fixture.post(
        "/tokens",
        ["Username": "anna", "Password": "pw", "Name": name, "Form": form, "Read": true])
      return try #require(made.object["Token"] as? String)
    }

    func request(
      _ method: HTTPProtocol.Method, _ path: String, _ body: String,
      _ fields: [(name: String, value: String)]
    ) async throws -> TestResponse {
      try await fixture.request(
        method, path, body: Array(body.utf8), fields: fields, isDialect: true)
    }

    var bearer: (name: String, value: String) { ("Authorization", "Bearer \(ntfy)") }

    /// Returns the messages of the topic, in ntfy's form.
    func topic() async throws -> [[String: Any]] {
      let response = try await request(.get, "/alerts/json?poll=1", "", [bearer])
      return response.bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
        (try? JSONSerialization.jsonObject(with: Data(line))) as? [String: Any]
      }
    }
  }

  private static let json = ("Content-Type", "application/json")

  @Test func proxmoxPostsToGotify() async throws {
    let site = try await Site()
    let body =
      #"{"title":"vzdump backup status (pve.lan): backup successful","message":"Details\n=======\n```\nVMID Name Status\n100  web  ok\n```","priority":1,"extras":{"client::display":{"contentType":"text/markdown"}}}"#
    let answer = try await site.request(
      .post, "/message", body,
      [
        Self.json, ("User-Agent", "proxmox-notify/1.0"), ("X-Gotify-Key", site.gotify),
        ("Authorization", "Bearer \(site.gotify)"),
      ])
    #expect(answer.status == 200)
    let message = try #require(try await site.fixture.inbox("anna").last)
    #expect(message["Markdown"] as? Bool == true && message["Priority"] as? Int == 1)
    #expect((message["Title"] as? String)?.hasPrefix("vzdump") == true)
  }

  @Test func uptimeKumaPostsToBoth() async throws {
    let site = try await Site()
    let body =
      #"{"topic":"alerts","message":"connect ECONNREFUSED","priority":5,"title":"NAS Down [Uptime-Kuma]","tags":["red_circle","home"],"actions":[{"action":"view","label":"Open NAS","url":"https://nas.lan"}],"icon":"https://h/i.png"}"#
    let axios = [
      Self.json, ("Accept", "application/json, text/plain, */*"), ("User-Agent", "axios/1.7.9"),
    ]
    for credentials in [site.bearer, NtfyTests.Site.basic("anna")] {
      let answer = try await site.request(.post, "/", body, axios + [credentials])
      #expect(answer.status == 200 && answer.object["notes"] == nil)
    }
    let entry = try #require(try await site.topic().last)
    #expect(entry["priority"] as? Int == 5 && entry["tags"] as? [String] == ["red_circle", "home"])
    #expect((entry["actions"] as? [[String: Any]])?.first?["url"] as? String == "https://nas.lan")
    let gotify = try await site.request(
      .post, "/message?token=\(site.gotify)",
      #"{"message":"down","priority":8,"title":"Uptime-Kuma"}"#, axios)
    #expect(gotify.status == 200 && gotify.object["priority"] as? Int == 8)
  }

  @Test func grafanaAndAlertmanagerPostAlerts() async throws {
    let site = try await Site()
    let grafana =
      #"{"receiver":"phone","status":"firing","orgId":1,"alerts":[{"status":"firing","labels":{"alertname":"Disk full","grafana_folder":"Home"},"annotations":{"summary":"93 % on /"},"startsAt":"2026-01-01T00:00:00Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"https://grafana.lan/alerting/1/edit","fingerprint":"c6e","silenceURL":"https://grafana.lan/s","dashboardURL":"https://grafana.lan/d/abc","panelURL":"","values":{"B":93},"valueString":"[ var='B' value=93 ]"}],"groupLabels":{"alertname":"Disk full"},"commonLabels":{},"commonAnnotations":{},"externalURL":"https://grafana.lan/","version":"1","groupKey":"{}:{}","truncatedAlerts":0,"title":"[FIRING:1] Disk full","state":"alerting","message":"**Firing**"}"#
    let alertmanager =
      #"{"receiver":"phone","status":"resolved","alerts":[{"status":"resolved","labels":{"alertname":"Down","job":"node"},"annotations":{},"startsAt":"2026-01-01T00:00:00Z","endsAt":"2026-01-01T00:05:00Z","generatorURL":"http://prometheus:9090/graph","fingerprint":"ab"}],"groupLabels":{"alertname":"Down"},"commonLabels":{"alertname":"Down"},"commonAnnotations":{},"externalURL":"http://alertmanager:9093","version":"4","groupKey":"{}:{}","truncatedAlerts":0}"#
    for (body, agent) in [(grafana, "Grafana"), (alertmanager, "Alertmanager/0.27.0")] {
      let answer = try await site.request(
        .post, "/publish", body, [Self.json, ("User-Agent", agent), site.bearer])
      #expect(answer.status == 200)
    }
    let messages = try await site.fixture.inbox("anna")
    #expect(
      messages.compactMap { $0["Title"] as? String } == ["[FIRING:1] Disk full", "[RESOLVED] Down"])
    #expect(
      messages.compactMap { $0["Link"] as? String } == [
        "https://grafana.lan/d/abc", "http://prometheus:9090/graph",
      ])
  }

  @Test func homeAssistantSetsItselfUp() async throws {
    let site = try await Site()
    let agent = ("User-Agent", "aiontfy/0.5.3")
    for path in ["/v1/health", "/v1/stats"] {
      #expect(try await site.request(.get, path, "", [agent]).status == 200)
    }
    let basic = NtfyTests.Site.basic("anna")
    let account = try await site.request(.get, "/v1/account", "", [agent, basic])
    #expect(account.status == 200 && account.object["username"] as? String == "anna")
    let made = try await site.request(
      .post, "/v1/account/token", #"{"label":"Home Assistant","expires":0}"#,
      [agent, basic, Self.json])
    let token = try #require(made.object["token"] as? String)
    #expect(made.object["last_access"] is Int && made.object["expires"] is Int)
    let bearer = ("Authorization", "Bearer \(token)")
    let allowed = try await site.request(.get, "/alerts/auth", "", [agent, bearer])
    #expect(allowed.object["success"] as? Bool == true)
    let body =
      #"{"topic":"alerts","message":"Doorbell","title":"Home","tags":["bell"],"priority":4,"actions":[{"action":"view","label":"Look","url":"https://home.lan/cam","clear":true}],"click":"https://home.lan/","attach":null,"markdown":false,"icon":null,"filename":null,"delay":null,"email":null,"call":null,"sequence_id":null}"#
    let published = try await site.request(.post, "/", body, [agent, bearer, Self.json])
    #expect(published.status == 200 && published.object["notes"] == nil)
    // With a file, all else comes in header fields, with Python's quotation marks.
    let picture = try await site.request(
      .put, "/alerts", "\0picture",
      [
        agent, bearer, ("X-Title", "Door"), ("X-Message", #"one\ntwo"#), ("X-Tags", "camera"),
        ("X-Priority", "4"), ("X-Markdown", "0"), ("X-Filename", "door.jpg"),
        ("X-Actions", "action='view', label='Look, now', url='https://home.lan/cam', clear=1"),
      ])
    let entry = picture.object
    #expect(entry["message"] as? String == "one\ntwo")
    let action = try #require((entry["actions"] as? [[String: Any]])?.first)
    #expect(action["label"] as? String == "Look, now" && action["clear"] as? Bool == true)
    #expect((entry["attachment"] as? [String: Any])?["name"] as? String == "door.jpg")
    let id = try #require(entry["id"] as? String)
    let cleared = try await site.request(.put, "/alerts/\(id)/clear", "", [agent, bearer])
    #expect(cleared.object["event"] as? String == "message_clear")
    let deleted = try await site.request(.delete, "/alerts/\(id)", "", [agent, bearer])
    #expect(deleted.object["event"] as? String == "message_delete")
  }

  @Test func shoutrrrPostsToBoth() async throws {
    let site = try await Site()
    let agent = ("User-Agent", "shoutrrr/0.8.0")
    let gotify = try await site.request(
      .post, "/message?token=\(site.gotify)",
      #"{"message":"Found new image","title":"Watchtower","priority":0,"date":null,"extras":null}"#,
      [agent, Self.json])
    #expect(gotify.status == 200 && gotify.object["id"] is Int)
    let ntfy = try await site.request(
      .post, "/alerts", "Found new image",
      [
        agent, NtfyTests.Site.basic("", site.ntfy), ("Title", "Watchtower"), ("Priority", "High"),
        ("Tags", "whale,update"), ("Actions", "view, Open, https://h/; view, Close, https://h/c"),
        ("Firebase", "no"),
      ])
    #expect(ntfy.status == 200 && ntfy.object["priority"] as? Int == 4)
    #expect((ntfy.object["actions"] as? [Any])?.count == 2 && ntfy.object["notes"] == nil)
  }

  @Test func healthchecksPostsToBothAndToALinkAlone() async throws {
    let site = try await Site()
    let agent = ("User-Agent", "healthchecks.io")
    let ntfy = try await site.request(
      .post, "/",
      #"{"topic":"alerts","priority":3,"title":"Backup is DOWN","message":"Last ping was 2 hours ago.","tags":["red_circle"],"actions":[{"action":"view","label":"View on Healthchecks","url":"https://hc.lan/checks/1/details/"}]}"#,
      [agent, Self.json, site.bearer])
    #expect(ntfy.status == 200 && ntfy.object["priority"] == nil)
    let gotify = try await site.request(
      .post, "/message?token=\(site.gotify)",
      #"{"title":"Backup is DOWN","message":"**Backup** is down","priority":5,"extras":{"client::display":{"contentType":"text/markdown"}}}"#,
      [agent, Self.json])
    #expect(gotify.status == 200)
    // A webhook has an address and nothing else.
    let link = "/publish?token=\(site.ntfy)&title=Backup&message=down"
    #expect(try await site.request(.get, link, "", [agent]).status == 200)
    let posted = try await site.request(
      .post, "/publish?token=\(site.ntfy)&title=Backup", "is down", [agent])
    #expect(posted.status == 200)
    #expect(try await site.fixture.texts("anna").suffix(2) == ["down", "is down"])
  }

  @Test func gotifysCommandLineMakesAnApplication() async throws {
    let site = try await Site()
    let made = try await site.request(
      .post, "/application", #"{"name":"cli","description":"","internal":false}"#,
      [Self.json, NtfyTests.Site.basic("anna")])
    let token = try #require(made.object["token"] as? String)
    // It takes a typed token of 15 characters only.
    #expect(token.utf8.count == 15)
    let pushed = try await site.request(
      .post, "/message",
      #"{"message":"done","title":"","priority":5,"extras":{"client::display":{"contentType":"text/plain"}}}"#,
      [Self.json, ("X-Gotify-Key", token)])
    #expect(pushed.status == 200 && pushed.object["title"] as? String == "cli")
  }

  @Test func curlInAUnitSaysWhatStopped() async throws {
    let site = try await Site()
    let answer = try await site.request(
      .post, "/alerts", "backup.service stopped",
      [("Content-Type", "application/x-www-form-urlencoded"), site.bearer, ("Accept", "*/*")])
    #expect(answer.object["message"] as? String == "backup.service stopped")
  }
}
