internal import Cryptography
internal import FoundationEssentials
internal import Push

/// The body of the relay's request, with one of two sets of members, or both.
struct RelayRequest: Decodable, Sendable {
  let topic: String?
  let tag: UInt32?
  let message: String?
  let id: String?
  let payload: RelayedMessage?

  /// Returns the message and its identifier for clients that take it as it is, or for all others; nil if a member is missing.
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
  }

  /// The most bytes that Apple and Google take.
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
    var (short, title) = (self, words)
    (short.message, short.blob, title.body) = (nil, nil, nil)
    for (message, words) in [(self, words), (short, words), (short, title)] {
      let shown = String(decoding: Self.json(of: words), as: UTF8.self)
      if let payload = kind == .fcm ? message.fcm(shown) : message.apns(shown) { return payload }
    }
    return nil
  }

  private func apns(_ words: String) -> PushPayload? {
    var members = self
    members.flags = nil
    if !isSealed { members.blob = nil }
    let notification =
      #"{"aps":{"alert":\#(words),"content-available":1,"mutable-content":1},"#
    let json = Array(notification.utf8) + Self.json(of: members).dropFirst()
    return json.count <= Self.longest ? .apns(json) : nil
  }

  private func fcm(_ words: String) -> PushPayload? {
    let data = [
      "topic": topic, "tag": tag.map { "\($0)" }, "message": message,
      "flags": flags.map { "\($0)" }, "blob": blob,
    ].compactMapValues(\.self)
    let shown = isSealed ? "" : #","notification":\#(words)"#
    let count = data.reduce(shown.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    guard count <= Self.longest else { return nil }
    return .fcm(
      data: Self.json(of: data),
      more: #","apns":{"payload":{"aps":{"content-available":1}}}\#(shown)"#)
  }

  /// The content of a push.
  var content: [UInt8] { Self.json(of: self) }

  private static func json(of value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts and numbers can always be encoded.
    return (try? encoder.encode(value)).map { Array($0) } ?? []
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
