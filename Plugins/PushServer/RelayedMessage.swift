internal import Cryptography
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import Platform
internal import Push
internal import Routing

/// The body of the relay's request, with one of two sets of members, or both.
struct RelayRequest: Decodable, Sendable {
  let topic: String?
  let tag: UInt32?
  let message: String?
  let id: String?
  let payload: RelayedMessage?

  /// Returns the message and its identifier in the form for clients that want it unchanged, or for all others; nil if a
  /// member is missing.
  func message(isRaw: Bool) -> (id: String, message: RelayedMessage)? {
    if isRaw {
      guard let topic, let tag, let message else { return nil }
      let id = SHA256.hash(Array(message.utf8)).hex
      return (id, RelayedMessage(topic: topic, tag: tag, message: message))
    }
    guard let id, let topic = payload?.topic, let flags = payload?.flags, let blob = payload?.blob
    else { return nil }
    return (id, RelayedMessage(topic: topic, flags: flags, blob: blob))
  }
}

/// A message on its way, whose JSON is the content of a push.
struct RelayedMessage: Codable, Sendable {
  /// The words of a notification.
  struct Words: Codable {
    let title: String
    var body: String?

    var json: JSONValue { .object(["title": .text(title), "body": body.map { .text($0) }]) }
  }

  /// The most bytes that Apple and Google accept.
  private static let longest = 4096

  var topic: String?
  var tag: UInt32?
  var message: String?
  var flags: UInt32?
  var blob: String?

  /// True if the phone has to decrypt it.
  private var isSealed: Bool { flags.map { $0 & 1 == 1 } ?? true }

  /// The words that the user is shown, or nil if a message that isn't sealed has none to be read.
  var words: Words? {
    guard !isSealed else { return Words(title: "You have new notifications. Open to view") }
    let words = Data(base64Encoded: blob ?? "")
      .flatMap { try? JSONDecoder().decode(Words.self, from: $0) }
    return words?.body == nil ? nil : words
  }

  /// Returns the payload for a kind of phones: without the text, and without the words' body too, if it is too long with them.
  ///
  /// - Returns: nil if there are no words, or it is too long even so.
  func payload(for kind: PushKind) -> PushPayload? {
    guard let words else { return nil }
    var short = self
    var title = words
    short.message = nil
    short.blob = nil
    title.body = nil
    for (message, words) in [(self, words), (short, words), (short, title)] {
      let payload = kind == .fcm ? message.fcm(words.json) : message.apns(words.json)
      if let payload { return payload }
    }
    return nil
  }

  private func apns(_ words: JSONValue) -> PushPayload? {
    let json = JSONWriter.object { payload in
      payload.add(
        "aps",
        object: { aps in
          aps["alert"] = words
          aps["content-available"] = 1
          aps["mutable-content"] = 1
        })
      payload["topic"] = topic
      payload["tag"] = tag.map { Int($0) }
      payload["message"] = message
      if isSealed { payload["blob"] = blob }
    }
    return json.count <= Self.longest ? .apns(json) : nil
  }

  private func fcm(_ words: JSONValue) -> PushPayload? {
    let data = [
      "topic": topic, "tag": tag.map { "\($0)" }, "message": message,
      "flags": flags.map { "\($0)" }, "blob": blob,
    ].compactMapValues(\.self)
    var members = [JSONValue.Member("apns", Self.quietly)]
    var count = data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    if !isSealed {
      let notification = JSONValue.Member("notification", words)
      members.append(notification)
      count += notification.name.utf8.count + words.bytes.count
    }
    guard count <= Self.longest else { return nil }
    let json = JSONWriter.object { object in
      for (name, text) in data.sorted(by: { $0.key < $1.key }) { object[name] = text }
    }
    return .fcm(data: json, members: members)
  }

  /// The part of Google's message that has iPhones wake the app.
  private static let quietly = JSONValue.object([
    "payload": .object(["aps": .object(["content-available": .integer(1)])])
  ])

  /// The content of a push.
  var content: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts and numbers can always be encoded.
    guard let json = try? encoder.encode(self) else { return [] }
    return Array(json)
  }
}

extension RelayedMessage {
  /// Reads the content of a push.
  init?(content: [UInt8]) {
    guard let message = try? JSONDecoder().decode(Self.self, from: Data(content)) else {
      return nil
    }
    self = message
  }
}

/// The relay's word for a message: its signature over the moment and the body.
struct RelayProof: Sendable {
  private static let signatureField = FieldName("X-Ed25519-Signature")
  private static let timestampField = FieldName("X-Ed25519-Timestamp")
  private static let life = Duration.seconds(3 * 86_400)
  private static let leeway = Duration.seconds(5 * 60)
  /// The time for which a message is remembered: as long as a proof may be good, so that it is good for one push.
  static let memory = life + leeway

  private let signature: Signature
  private let timestamp: ArraySlice<UInt8>

  /// Refuses a request whose proof is missing, too old or ahead, before its body is read.
  ///
  /// - Throws: 401.
  static func screen(_ head: RequestHead, at now: Timestamp) throws(HTTPError) {
    let timestamp = head.first(timestampField)
    let hasSignature = head.first(signatureField) != nil
    guard let timestamp, hasSignature else {
      var missing: [String: String] = [:]
      if !hasSignature { missing["\(signatureField.text)"] = "Missing signature" }
      if timestamp == nil { missing["\(timestampField.text)"] = "Missing timestamp" }
      throw .forged("a header field is missing", missing)
    }
    guard let moment = moment(timestamp) else {
      throw .forged("the timestamp hasn't 10 or 13 digits")
    }
    guard (now - life...now + leeway).contains(moment) else {
      throw .forged("the timestamp is more than 3 days old or 5 minutes ahead")
    }
  }

  /// Reads the proof of a request that was screened; nil if the signature isn't one.
  init?(_ head: RequestHead) {
    guard let text = head.first(Self.signatureField),
      let timestamp = head.first(Self.timestampField),
      let signature = Signature(hex: String(decoding: text, as: UTF8.self))
    else { return nil }
    self.signature = signature
    self.timestamp = timestamp
  }

  /// Returns whether the relay has signed a body at this moment.
  func covers(_ body: [UInt8], by relay: AuthenticationPublicKey) -> Bool {
    relay.verifies(signature, over: timestamp + Array(".\(body.count).".utf8) + body)
  }

  private static func moment(_ digits: ArraySlice<UInt8>) -> Timestamp? {
    guard digits.count == 10 || digits.count == 13,
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let number = Int64(String(decoding: digits, as: UTF8.self))
    else { return nil }
    return digits.count == 10 ? Timestamp(seconds: number) : Timestamp(milliseconds: number)
  }
}
