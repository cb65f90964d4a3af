internal import Cryptography
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol

/// Reads a program's publication, in any of the forms that ntfy's and Gotify's clients, Alertmanager and a shell use.
enum PublicationReader {
  /// A publication as it was read.
  struct Reading: Sendable {
    var fields = PublicationFields()
    /// The client's own name for the publication.
    var clientID: String?
    /// The number of the application that Gotify's clients name.
    var appID: Int64?
  }

  /// The most pairs of a form that are looked at.
  private static let mostPairs = 64
  private static let clientID = FieldName("ClientId")
  private static let idempotencyKey = FieldName("Idempotency-Key")

  /// Reads the body of a request that publishes, but for files. What the parameters say is for the caller to fill in.
  ///
  /// - Parameters:
  ///   - request: a body that is the message itself, an object with `message`, Alertmanager's or Grafana's object, or a form
  ///     with `message`; the rest there, in header fields, or in the query.
  ///   - isGotifys: whether it is in Gotify's dialect, where header fields and the query don't count here, and a form is one
  ///     whatever it has; elsewhere a text may have come with a form's type, which curl sends by itself.
  /// - Throws: ``FieldError`` for a body that can't be read.
  static func read(
    _ request: Request, isGotifys: Bool = false
  ) throws(FieldError) -> Reading {
    let head = request.head
    let type = mediaType(of: head)
    var reading = beginning(of: head)
    if type == multipart {
      let form: MultipartForm
      do throws(MultipartError) {
        form = try MultipartForm(
          contentType: head.value(.contentType) ?? "", body: request.body)
      } catch { throw FieldError(of: error) }
      let texts = form.parts.filter { !isFile($0.name, $0.fileName) }
      read(texts: texts.map { ($0.name, $0.content) }, into: &reading)
    } else if type == "application/json" || type != "text/plain" && looksLikeObject(request.body),
      let json = json(of: request), json.members != nil
    {
      if let alerts = AlertNotification(json) {
        reading.fields = alerts.fields
      } else {
        read(json, into: &reading)
      }
    } else if type == "application/json" || isGotifys && looksLikeObject(request.body) {
      // Elsewhere, what only looks like an object is a text.
      throw .noObject
    } else if type == "application/x-www-form-urlencoded", let form = form(request, isGotifys) {
      read(object(of: form.pairs), into: &reading)
    } else if !request.body.isEmpty {
      reading.fields.message = try text(request.body, charset: charset(of: head))
      reading.fields.isMarkdown = type == "text/markdown"
    }
    return reading
  }

  /// Returns whether a body is to be an object where no other text can be meant.
  static func isMeantAsObject(_ request: Request) -> Bool {
    mediaType(of: request.head) == "application/json" || looksLikeObject(request.body)
  }

  /// Returns whether a body begins as an object does.
  private static func looksLikeObject(_ body: [UInt8]) -> Bool {
    body.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
  }

  /// The media type of forms with files.
  static let multipart = "multipart/form-data"

  /// Returns what the head alone says of a publication, but for parameters.
  static func beginning(of head: RequestHead) -> Reading {
    var reading = Reading()
    reading.clientID = head.value(clientID) ?? head.value(idempotencyKey).map(clientID(ofKey:))
    return reading
  }

  /// Returns the name for a publication that stands for an `Idempotency-Key`, which may be any text in quotation marks.
  private static func clientID(ofKey field: String) -> String {
    let isQuoted = field.count > 1 && field.hasPrefix("\"") && field.hasSuffix("\"")
    let key = isQuoted ? String(field.dropFirst().dropLast()) : field
    if (try? ClientID(key)) != nil { return key }
    return Hex.encode(SHA256.hash(Array(key.utf8)).bytes)
  }

  /// Returns whether a part of a form is a file. curl's `-F message=@FILE` is a text.
  static func isFile(_ name: String, _ fileName: String?) -> Bool {
    fileName != nil && name != "message"
  }

  /// Reads the texts of a multipart form; a part that isn't UTF-8 is ISO 8859-1.
  static func read(
    texts: [(name: String, content: ArraySlice<UInt8>)], into reading: inout Reading
  ) {
    let pairs = texts.map { part in
      let text = String(validating: part.content, as: UTF8.self)
      return (name: part.name, value: text ?? TextEncoding.latin1(part.content))
    }
    read(object(of: pairs), into: &reading)
  }

  /// Returns whether bytes are a text, of which the last character may be cut.
  static func isText(_ bytes: [UInt8]) -> Bool {
    !bytes.contains(0)
      && (0..<4).contains { cut in String(validating: bytes.dropLast(cut), as: UTF8.self) != nil }
  }

  /// Returns the body as a form; nil if it is rather a text.
  private static func form(_ request: Request, _ isGotifys: Bool) -> URLEncodedForm? {
    let form = URLEncodedForm(lenient: request.body[...])
    return isGotifys || form["message"] != nil ? form : nil
  }

  private static func read(_ object: JSONValue, into reading: inout Reading) {
    reading.fields = fields(of: object)
    reading.clientID = reading.clientID ?? object["ClientId"]?.string
    let number = object.foldingNames["appid"]
    reading.appID = number?.integer ?? number?.string.flatMap { Int64($0) }
  }

  /// Parses a request's body, of which the charset may be an older one, as some shells send it.
  ///
  /// - Returns: nil if it is no JSON.
  static func json(of request: Request) -> JSONValue? {
    let body = withoutMark(request.body)
    if let json = JSONValue(lenient: body) { return json }
    guard String(validating: body, as: UTF8.self) == nil else { return nil }
    let charset = charset(of: request.head) ?? "iso-8859-1"
    return TextEncoding.decode(body, as: charset).flatMap { JSONValue(lenient: Array($0.utf8)) }
  }

  private static func withoutMark(_ body: [UInt8]) -> [UInt8] {
    let mark = TextEncoding.mark
    return body.starts(with: mark) ? Array(body.dropFirst(mark.count)) : body
  }

  /// Returns the media type of a request's body in lower case, without parameters; empty if there is none.
  static func mediaType(of head: RequestHead) -> String {
    let value = head.value(.contentType) ?? ""
    return value.prefix { $0 != ";" && $0 != " " }.lowercased()
  }

  /// Returns the charset that a request states for its body.
  static func charset(of head: RequestHead) -> String? {
    let parameters = (head.value(.contentType) ?? "").split(separator: ";").dropFirst()
    for parameter in parameters {
      let pair = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingBlanks }
      if pair.count == 2, pair[0].lowercased() == "charset" {
        return pair[1].trimmingPrefix("\"").split(separator: "\"").first.map(String.init)
      }
    }
    return nil
  }

  private static func text(_ body: [UInt8], charset: String?) throws(FieldError) -> String {
    let body = withoutMark(body)
    if let charset, let text = TextEncoding.decode(body, as: charset) { return text }
    guard let text = String(validating: body, as: UTF8.self) else {
      throw FieldError(.message, "is not UTF-8, and no charset is told")
    }
    return text
  }

  /// Reads the members of a JSON object, of Gotify's or of ntfy's, which has a `topic`.
  static func fields(of object: JSONValue) -> PublicationFields {
    let json = object.foldingNames
    var fields = PublicationFields()
    for name in ["message", "title", "priority", "click", "icon", "attach", "filename", "delay"] {
      switch json[name] {
      case .list, .object: fields.notes.append("\(name) was dropped: it is no text")
      default: break
      }
    }
    fields.message = text(json["message"])
    fields.title = text(json["title"])
    fields.priority = text(json["priority"])
    fields.priorityScale = json["topic"] == nil ? .ten : .five
    // Programs in Go send 0 for none.
    if fields.priorityScale == .five, fields.priority == "0" { fields.priority = nil }
    switch json["tags"] {
    case .list(let tags): fields.tags = tags.compactMap(text)
    case .text(let tags): fields.tags = PublishingParameters.tags(tags)
    default: break
    }
    fields.link = text(json["click"]) ?? text(json["link"])
    fields.icon = text(json["icon"])
    switch json["actions"] {
    case .list(let actions): fields.actions = actions
    case .object(let action): fields.actions = [.object(action)]
    case .text(let actions): fields.read(actions: actions)
    default: break
    }
    fields.isMarkdown =
      json["markdown"].flatMap(text).map(PublishingParameters.isTrue) ?? false
    fields.sequence = text(json["sequence_id"])
    fields.attachedURL = text(json["attach"])
    fields.fileName = text(json["filename"])
    fields.delay = text(json["delay"])
    fields.isUncached = text(json["cache"]).map { !PublishingParameters.isTrue($0) } ?? false
    for (name, words) in [("email", "Email"), ("call", "Call")]
    where text(json[name]) != nil {
      fields.notes.append("\(words) was ignored: it is not done here")
    }
    fields.read(extras: json["extras"])
    return fields
  }

  /// Returns a value as text; nil for an object, a list, nothing, and an empty text, which some clients send for nothing.
  private static func text(_ json: JSONValue?) -> String? {
    switch json {
    case .text(let text): text.isEmpty ? nil : text
    case .number, .truth: json?.json
    default: nil
    }
  }

  /// Makes an object of the pairs of a form.
  private static func object(of pairs: [(name: String, value: String)]) -> JSONValue {
    var members: [JSONValue.Member] = []
    for pair in pairs.prefix(mostPairs) where !members.contains(where: { $0.name == pair.name }) {
      let isJSON = pair.name == "extras"
      let value = isJSON ? JSONValue(parsing: Array(pair.value.utf8)) : nil
      members.append(JSONValue.Member(pair.name, value ?? .text(pair.value)))
    }
    return .object(members)
  }
}

extension JSONValue {
  /// The object with its names in lower case, as the languages of some senders begin them with a capital. A name that was written
  /// so counts first.
  var foldingNames: JSONValue {
    guard let members, members.contains(where: { $0.name.utf8.contains(where: \.isCapital) })
    else { return self }
    let names = Set(members.map(\.name))
    return .object(
      members.compactMap { member in
        let folded = member.name.lowercased()
        guard folded != member.name else { return member }
        return names.contains(folded) ? nil : Member(folded, member.value)
      })
  }
}

extension UInt8 {
  fileprivate var isCapital: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
}

extension PublicationFields {
  /// Reads what Gotify's clients send beside the rest.
  mutating func read(extras json: JSONValue?) {
    extras = json
    link = link ?? json?["client::notification"]?["click"]?["url"]?.string
    let type = json?["client::display"]?["contentType"]?.string
    if type?.lowercased() == "text/markdown" { isMarkdown = true }
  }
}

/// A notification as Prometheus' Alertmanager and Grafana post it to a webhook.
struct AlertNotification: Sendable {
  /// The longest text that is made of alerts, in bytes: it fits into a push.
  private static let longest = 2048
  private static let longestTitle = 60
  private static let longestLine = 200

  let fields: PublicationFields

  /// Reads a notification, and makes a message with a line for each alert, as many as fit.
  ///
  /// - Returns: nil if the object is something else.
  init?(_ json: JSONValue) {
    guard let alerts = json["alerts"]?.elements, let first = alerts.first,
      alerts.allSatisfy({ $0["labels"]?.members != nil })
    else { return nil }
    let name =
      json["groupLabels"]?["alertname"]?.string ?? first["labels"]?["alertname"]?.string ?? "alert"
    let isFiring = json["status"]?.string == "firing"
    let firing = alerts.count { $0["status"]?.string != "resolved" }
    let title = "[\(isFiring ? "FIRING:\(firing)" : "RESOLVED")] \(name)"
    let text = Self.text(of: alerts, isFiring: isFiring)
    var fields = PublicationFields()
    fields.message = text.isEmpty ? name : text
    fields.title = String(PlainText.line(title).prefix(Self.longestTitle))
    fields.priority = isFiring ? "8" : "5"
    fields.link = Self.link(in: alerts, of: json)
    self.fields = fields
  }

  private static func text(of alerts: [JSONValue], isFiring: Bool) -> String {
    var text = ""
    for alert in alerts {
      let notes = alert["annotations"]
      let labels = (alert["labels"]?.members ?? []).sorted { $0.name < $1.name }
      let words =
        notes?["summary"]?.string ?? notes?["description"]?.string
        ?? labels.map { "\($0.name)=\($0.value.string ?? $0.value.json)" }.joined(separator: " ")
      let state = alert["status"]?.string == "resolved" && isFiring ? "resolved: " : ""
      let line = PlainText.line("\(state)\(words)")
      guard text.utf8.count + line.utf8.count < longest else {
        text += text.isEmpty ? String(line.prefix(longestLine)) + "…" : "\n…"
        break
      }
      text += text.isEmpty ? line : "\n\(line)"
    }
    return text
  }

  /// Finds the page that tells more: of the alert, of the rule, or of the program that sends.
  private static func link(in alerts: [JSONValue], of json: JSONValue) -> String? {
    for name in ["dashboardURL", "generatorURL", "externalURL"] {
      for value in alerts.map({ $0[name] }) + [json[name]] {
        if let text = value?.string, let link = MessageLink(text) { return link.text }
      }
    }
    return nil
  }
}
