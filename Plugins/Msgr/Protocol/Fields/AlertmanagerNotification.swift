internal import FoundationEssentials
internal import Formats

/// A notification as Prometheus' Alertmanager posts it to a webhook.
struct AlertmanagerNotification: Decodable {
  private struct Alert: Decodable {
    let status: String?
    let labels: [String: String]
    let annotations: [String: String]?
  }

  /// The longest text that is made of alerts, in bytes: it fits into a push.
  private static let longest = 2048

  private let status: String
  private let groupLabels: [String: String]?
  private let alerts: [Alert]

  /// Reads a notification.
  ///
  /// - Parameter json: the body of a request.
  /// - Returns: nil if the body is something else.
  init?(json: [UInt8]) {
    // jansson knows what is JSON and how deep; the decoder only picks the members.
    guard let members = JSONObjectReader.members(of: json),
      members.contains(where: { $0.name == "alerts" }),
      let read = try? JSONDecoder().decode(Self.self, from: Data(json)), !read.alerts.isEmpty
    else { return nil }
    self = read
  }

  /// Makes a message with a line for each alert, as many as fit.
  func publication() throws(FieldError) -> Publication {
    let name = groupLabels?["alertname"] ?? alerts[0].labels["alertname"] ?? "alert"
    let isFiring = status == "firing"
    let firing = alerts.count { $0.status != "resolved" }
    let title = "[\(isFiring ? "FIRING:\(firing)" : "RESOLVED")] \(name)"
    var text = ""
    for alert in alerts {
      let notes = alert.annotations ?? [:]
      let words =
        notes["summary"] ?? notes["description"]
        ?? alert.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        .joined(separator: " ")
      let state = alert.status == "resolved" && isFiring ? "resolved: " : ""
      let line = Self.plain("\(state)\(words)")
      guard text.utf8.count + line.utf8.count < Self.longest else {
        text += text.isEmpty ? String(line.prefix(200)) + "…" : "\n…"
        break
      }
      text += text.isEmpty ? line : "\n\(line)"
    }
    return try Publication(
      message: text.isEmpty ? name : text, title: String(Self.plain(title).prefix(60)),
      priority: PublishedPriority(rawValue: isFiring ? 8 : 5), link: nil)
  }

  /// Replaces control characters by blanks.
  private static func plain(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isControl ? " " : $0 }))
  }
}
