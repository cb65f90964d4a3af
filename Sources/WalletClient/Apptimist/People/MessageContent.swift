public import ApptimistProtocol
public import Cryptography

/// The content of a message as apps write it: a JSON object with ``text``, one of the other members, or both. Members of other
/// types, and unknown ones, are ignored.
public struct MessageContent: Sendable, Hashable, Codable {
  /// A file in the sender's directory, or several that are the pieces of one.
  public struct File: Sendable, Hashable, Codable {
    /// The name that the sender gives it, which may be anything.
    public let name: String
    /// The media type, likewise.
    public let type: String
    /// The number of bytes of the file, likewise.
    public let size: UInt64
    /// The name in the sender's directory, in hexadecimal digits.
    public let file: Version2.DeviceID
    /// The key of the boxes that lie there.
    public let key: Digest256<File>
    /// The names of the pieces in order, or nil if the file is whole.
    public let pieces: [Version2.DeviceID]?
    /// The digest of the whole, where there are pieces.
    public let digest: SHA256.Digest?

    /// The most bytes of a file.
    public static let longest: UInt64 = 25 << 20
    private static let mostPieces = 4_096

    /// Reads a file. What can't be put together is none.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      name = try members.decode(String.self, forKey: .name)
      type = try members.decode(String.self, forKey: .type)
      size = try members.decode(UInt64.self, forKey: .size)
      file = try members.decode(Version2.DeviceID.self, forKey: .file)
      key = try members.decode(Digest256<File>.self, forKey: .key)
      guard members.contains(.pieces) else {
        pieces = nil
        digest = nil
        return
      }
      let pieces = try members.decode([Version2.DeviceID].self, forKey: .pieces)
      guard (1...Self.mostPieces).contains(pieces.count), size <= Self.longest else {
        throw DecodingError.dataCorruptedError(
          forKey: .pieces, in: members, debugDescription: "too many, or none")
      }
      self.pieces = pieces
      digest = try members.decode(SHA256.Digest.self, forKey: .digest)
    }

    /// The files to read, in order.
    public var files: [Version2.DeviceID] { pieces ?? [file] }

    /// Opens the file.
    ///
    /// - Parameter boxes: the contents of ``files``.
    /// - Returns: the bytes, or nil unless all are as the sender sealed them.
    public func open(_ boxes: [[UInt8]]) -> [UInt8]? {
      guard boxes.count == files.count, let key = BoxKey(key.bytes) else { return nil }
      var content: [UInt8] = []
      for (index, box) in boxes.enumerated() {
        // One nonce for two pieces would tell what they have in common; some apps use zero for all.
        let piece = key.open(box, nonce: Self.nonce(index)) ?? key.open(box, nonce: BoxNonce())
        guard let piece else { return nil }
        content += piece
      }
      guard let digest else { return content }
      return UInt64(content.count) == size && SHA256.hash(content) == digest ? content : nil
    }

    private static func nonce(_ index: Int) -> BoxNonce {
      let number = (0..<8).reversed().map { UInt8(truncatingIfNeeded: index >> (8 * $0)) }
      return BoxNonce([UInt8](repeating: 0, count: 16) + number) ?? BoxNonce()
    }
  }

  /// An invitation to a forum.
  public struct Invitation: Sendable, Hashable, Codable {
    /// The forum.
    public let forum: EncryptionPublicKey
    /// The forum's secret key.
    public let secret: Digest256<Invitation>
    /// The forum's name.
    public let name: String
  }

  /// A message that another device of the same user has sent.
  public struct Sent: Sendable, Hashable, Codable {
    /// The recipient: a user or a forum.
    public let to: EncryptionPublicKey
    /// The time of writing, in seconds since 1970.
    public let time: UInt64
    /// The message's identifier.
    public let messageID: MessageID
    /// The content that was sealed.
    public let content: String

    /// Makes the record of a message and the content that it was sealed with.
    public init(_ message: OutgoingMessage, content: [UInt8]) {
      to = message.to
      time = message.header.time
      messageID = message.id
      self.content = String(decoding: content, as: UTF8.self)
    }
  }

  /// Another's post, which a moderator has published.
  public struct Published: Sendable, Hashable, Codable {
    /// The author.
    public let from: EncryptionPublicKey
    /// The time of writing, in seconds since 1970.
    public let time: UInt64
    /// The author's signature.
    public let signature: Signature
    /// The content that was signed.
    public let content: String
  }

  /// The message that a message answers.
  public struct Reply: Sendable, Hashable, Codable {
    /// The message.
    public let to: MessageID
    /// The first 100 characters of its text.
    public let text: String

    /// Answers a message with a text.
    public init(to message: MessageID, quoting text: String) {
      to = message
      self.text = Self.quote(text)
    }

    /// Reads a reply, of whose quote as much is kept as apps write.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      to = try members.decode(MessageID.self, forKey: .to)
      text = Self.quote(try members.decode(String.self, forKey: .text))
    }

    private static func quote(_ text: String) -> String {
      String(String.UnicodeScalarView(text.unicodeScalars.prefix(100)))
    }
  }

  /// A reaction to a message.
  public struct Reaction: Sendable, Hashable, Codable {
    /// The message.
    public let to: MessageID
    /// One emoji, or nothing, which withdraws the reaction.
    public let emoji: String

    /// The most UTF-16 code units of an emoji.
    private static let longestEmoji = 40

    /// Reacts to a message.
    ///
    /// - Returns: nil unless the text is one emoji or empty.
    public init?(to message: MessageID, emoji: String) {
      guard emoji.isEmpty || Self.isEmoji(emoji) else { return nil }
      to = message
      self.emoji = emoji
    }

    /// Reads a reaction.
    ///
    /// - Throws: `DecodingError`, also for what is no emoji.
    public init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      let emoji = try members.decode(String.self, forKey: .emoji)
      guard emoji.isEmpty || Self.isEmoji(emoji) else {
        throw DecodingError.dataCorruptedError(
          forKey: .emoji, in: members, debugDescription: "no emoji")
      }
      to = try members.decode(MessageID.self, forKey: .to)
      self.emoji = emoji
    }

    private static func isEmoji(_ text: String) -> Bool {
      guard text.count == 1, text.utf16.count <= longestEmoji else { return false }
      let scalars = text.unicodeScalars
      let flagLetters = scalars.filter { ("\u{1F1E6}"..."\u{1F1FF}").contains($0) }
      if !flagLetters.isEmpty { return flagLetters.count == 2 }
      // Digits are emoji, too, but only with the sign of a key around them.
      if scalars.first?.isASCII == true { return scalars.last == "\u{20E3}" }
      return scalars.contains { $0.properties.isEmoji }
    }
  }

  /// Another text for an own message, within an hour.
  public struct Edit: Sendable, Hashable, Codable {
    /// The message.
    public let of: MessageID
    /// Its text from now on.
    public let text: String

    /// The seconds within which a message may be edited, by its author's clock.
    public static let period: UInt64 = 3_600

    /// Gives an own message another text.
    public init(of message: MessageID, text: String) {
      of = message
      self.text = text
    }
  }

  /// The most bytes of a text that apps show.
  public static let textLimit = 65_536

  /// The identifier: 16 random hexadecimal digits, so that two equal contents differ.
  public let id: String
  /// The text; an app shows 65,536 bytes of it.
  public var text: String?
  /// The message that is answered, beside the text.
  public var reply: Reply?
  /// A reaction.
  public var reaction: Reaction?
  /// An edit.
  public var edit: Edit?
  /// A file.
  public var file: File?
  /// An invitation to a forum.
  public var invitation: Invitation?
  /// To the own devices: a message that was sent.
  public var sent: Sent?
  /// A message of the same author, which is withdrawn.
  public var takenBack: MessageID?
  /// Another's post.
  public var published: Published?
  /// A forum of the reader's, which the sender has left.
  public var left: EncryptionPublicKey?
  /// A forum whose secret the sender requests.
  public var mayIRead: EncryptionPublicKey?
  /// The file of the own directory that was written.
  public var changed: String?

  /// Makes a content.
  ///
  /// - Parameters:
  ///   - text: the text, or nil for none.
  ///   - id: the identifier, or nil for a random one.
  public init(text: String? = nil, id: String? = nil) {
    self.id = id ?? Hex.encode(SecureRandom.bytes(8))
    self.text = text
  }

  /// Reads the content that a message was sealed with.
  ///
  /// - Parameter data: a JSON object, or plain text of apps that write no objects.
  /// - Returns: nil unless it is UTF-8.
  public init?(_ data: [UInt8]) {
    guard let plain = String(validating: data, as: UTF8.self) else { return nil }
    self = CanonicalJSON.decode(Self.self, data) ?? MessageContent(text: plain, id: "")
  }

  /// Reads the members of the right types.
  ///
  /// - Throws: `DecodingError` unless it is an object.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func member<Member: Decodable>(_ key: CodingKeys) -> Member? {
      try? members.decode(Member.self, forKey: key)
    }
    id = member(.id) ?? ""
    text = member(.text)
    reply = member(.reply)
    reaction = member(.reaction)
    edit = member(.edit)
    file = member(.file)
    invitation = member(.invitation)
    sent = member(.sent)
    takenBack = member(.takenBack)
    published = member(.published)
    left = member(.left)
    mayIRead = member(.mayIRead)
    changed = member(.changed)
  }

  /// The data that a message is sealed with.
  public var data: [UInt8] { CanonicalJSON.encode(self) }
}

extension DeviceMessage {
  /// The identifier by which replies, reactions and edits name the message: that of the message as its author sent it, which
  /// differs from that of each reader's copy of a post.
  ///
  /// Of a post that the service has sealed anew it can't be computed, and is that of the copy.
  public var sentID: MessageID {
    guard Version2.Sealing.kind(of: box) == .post else { return id }
    return MessageID(of: header(for: to), data: box[...])
  }
}

extension Device {
  /// Returns whether the author of a post that a moderator has published wrote it.
  ///
  /// - Parameters:
  ///   - post: the post.
  ///   - forum: the forum that it came through. Whether the publisher is a moderator, ``isByModerator(_:)`` says.
  /// - Throws: the errors of ``user(_:)``.
  public func isSigned(
    _ post: MessageContent.Published, in forum: EncryptionPublicKey
  ) async throws(DeviceError) -> Bool {
    if known[post.from].authenticationKey == nil { _ = try await user(post.from) }
    let signed = Version2.SignedContent(Array(post.content.utf8), signature: post.signature)
    let header = PDU.Message(time: post.time, recipient: forum, to: forum, from: post.from)
    guard let key = known[post.from].authenticationKey else { return false }
    return signed.isSigned(header, at: service.encryptionKey, by: key)
  }
}
