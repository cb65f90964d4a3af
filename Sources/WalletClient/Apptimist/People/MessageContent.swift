public import ApptimistProtocol
public import Cryptography

/// The content of a message as apps write it: a JSON object with ``text``, one of the other members, or both. Members that are
/// not what they have to be, and unknown ones, are passed over.
public struct MessageContent: Sendable, Hashable, Codable {
  /// A file in the sender's directory.
  public struct File: Sendable, Hashable, Codable {
    /// The name that the sender gives it, which may be anything.
    public let name: String
    /// The media type, likewise.
    public let type: String
    /// The number of bytes of the file, likewise.
    public let size: UInt64
    /// The name in the sender's directory, in hexadecimal digits.
    public let file: Version2.DeviceID
    /// The key of the box that lies there.
    public let key: Digest256<File>
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

    /// Takes a message and the content that it was sealed with.
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
  }

  /// A reaction to a message.
  public struct Reaction: Sendable, Hashable, Codable {
    /// The message.
    public let to: MessageID
    /// One emoji, or nothing, which takes the reaction back.
    public let emoji: String
  }

  /// Another text for an own message, within an hour.
  public struct Edit: Sendable, Hashable, Codable {
    /// The message.
    public let of: MessageID
    /// Its text from now on.
    public let text: String
  }

  /// The most bytes of a text that apps show.
  public static let textLimit = 65_536

  /// The identifier: 16 random hexadecimal digits, so that two equal contents differ.
  public let id: String
  /// The text; an app shows 65,536 bytes of it.
  public var text: String?
  /// What is answered, beside the text.
  public var reply: Reply?
  /// A reaction.
  public var reaction: Reaction?
  /// An edit.
  public var edit: Edit?
  /// A file.
  public var file: File?
  /// An invitation to a forum.
  public var invitation: Invitation?
  /// A message to the own devices: what was sent.
  public var sent: Sent?
  /// A message of the same author, which is taken back.
  public var takenBack: MessageID?
  /// Another's post.
  public var published: Published?
  /// A forum of the reader's, which the sender has left.
  public var left: EncryptionPublicKey?
  /// A forum whose secret the sender asks for.
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

  /// Reads what a message was sealed with.
  ///
  /// - Parameter data: a JSON object, or plain text of apps that write no objects.
  /// - Returns: nil unless it is UTF-8.
  public init?(_ data: [UInt8]) {
    guard let plain = String(validating: data, as: UTF8.self) else { return nil }
    self = JSONValue.decode(Self.self, data) ?? MessageContent(text: plain, id: "")
  }

  /// Reads the members that are what they have to be.
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
  public var data: [UInt8] { JSONValue.encode(self) }
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
