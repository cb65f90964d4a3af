internal import Formats
internal import Foundation
internal import FoundationEssentials
internal import HTTPProtocol

/// Reads a program's publication, in any of the forms that ntfy's and Gotify's clients, Alertmanager and a shell use.
enum PublicationReader {
  private static let titleFields = [FieldName("Title"), FieldName("X-Title")]
  private static let priorityFields = [FieldName("Priority"), FieldName("X-Priority")]
  private static let clickFields = [FieldName("Click"), FieldName("X-Click")]

  /// Reads a request.
  ///
  /// - Parameter request: a body that is the message itself, an object with `message`, Alertmanager's object, or a form
  ///   with `message`; title, priority and link there, or in ntfy's header fields.
  /// - Throws: ``FieldError`` for the faulty field.
  static func read(_ request: Request) throws(FieldError) -> Publication {
    let head = request.head
    var values: [String: String] = [:]
    let type = mediaType(of: head)
    let start = request.body.first { !" \t\r\n".utf8.contains($0) }
    if type == "multipart/form-data" {
      values = try multipart(request)
    } else if type == "application/json" || type != "text/plain" && start == UInt8(ascii: "{") {
      if let alerts = AlertmanagerNotification(json: request.body) {
        return try alerts.publication()
      }
      values = try object(request.body)
    } else if type == "application/x-www-form-urlencoded",
      let form = URLEncodedForm(request.body[...]), form["message"] != nil
    {
      for pair in form.pairs where values[pair.name] == nil { values[pair.name] = pair.value }
    } else {
      guard let text = String(validating: request.body, as: UTF8.self) else {
        throw FieldError(.message, "is not UTF-8")
      }
      values["message"] = text
    }
    guard let message = values["message"] else { throw FieldError(.message, "is missing") }
    return try Publication(
      message: message, title: values["title"] ?? value(titleFields, head),
      priority: try priority(values["priority"], head),
      link: values["click"] ?? values["link"] ?? value(clickFields, head))
  }

  /// Returns the value of a header field under the first of its names that is there.
  private static func value(_ names: [FieldName], _ head: RequestHead) -> String? {
    names.lazy.compactMap { head.value($0) }.first
  }

  private static func mediaType(of head: RequestHead) -> String {
    let value = head.value(.contentType) ?? ""
    return value.prefix { $0 != ";" && $0 != " " }.lowercased()
  }

  private static func priority(
    _ text: String?, _ head: RequestHead
  ) throws(FieldError) -> PublishedPriority? {
    if let text, !text.isEmpty {
      guard let number = Int(text), let priority = PublishedPriority(rawValue: number) else {
        throw FieldError(.priority, "is not a whole number from 0 to 10")
      }
      return priority
    }
    return try value(priorityFields, head).map { text throws(FieldError) in
      guard let priority = PublishedPriority(ntfy: text) else {
        throw FieldError(.priority, "is not 1 to 5, nor one of their names")
      }
      return priority
    }
  }

  private static let textFields: [String: FieldID] = [
    "message": .message, "title": .title, "click": .link, "link": .link,
  ]

  private static func object(_ body: [UInt8]) throws(FieldError) -> [String: String] {
    guard let members = JSONObjectReader.members(of: body) else { throw .noObject }
    var values: [String: String] = [:]
    for member in members where values[member.name] == nil {
      let field = textFields[member.name]
      switch member.value {
      case .text(let text): values[member.name] = text
      case .integer(let number) where field == nil: values[member.name] = String(number)
      case .null: break
      default:
        if let field { throw FieldError(field, "is not a string") }
        if member.name == "priority" {
          throw FieldError(.priority, "is not a whole number from 0 to 10")
        }
      }
    }
    return values
  }

  private static func multipart(_ request: Request) throws(FieldError) -> [String: String] {
    let form: MultipartForm
    do throws(MultipartError) {
      form = try MultipartForm(
        contentType: request.head.value(.contentType) ?? "", body: request.body)
    } catch { throw FieldError(nil, "the form is malformed: \(error)") }
    var values: [String: String] = [:]
    for part in form.parts where values[part.name] == nil {
      guard part.fileName == nil || part.name == "message" else { continue }
      values[part.name] = String(validating: part.content, as: UTF8.self)
    }
    return values
  }
}

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
