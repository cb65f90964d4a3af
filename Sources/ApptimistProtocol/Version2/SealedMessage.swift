public import Cryptography
internal import Formats

extension Version2 {
  /// The sealing of a message between its sender and its receiver, under a key that no other message has.
  public struct Sealing: Hashable, Sendable {
    /// The content that is sealed.
    public enum Kind: UInt8, Hashable, Sendable {
      /// A message to a user.
      case message = 1
      /// A post to a forum.
      case post = 2
      /// A copy of a post, made by a service that has the forum's secret.
      case copy = 3
    }

    /// The bytes by which sealed data is longer than what is sealed.
    public static let overhead = 8 + EncryptionPublicKey.byteCount + BoxKey.tagLength

    private static let mark: [UInt8] = [0x61, 0x70, 0x70, 0x74, 0x69, 0x6d, 0x02]

    /// The content that is sealed.
    public let kind: Kind
    /// The service's encryption key.
    public let service: EncryptionPublicKey
    /// The key with which it is sealed: `from`'s, or of a copy the forum's.
    public let sender: EncryptionPublicKey
    /// The key with which it is opened: `to`'s, or of a copy the reader's.
    public let receiver: EncryptionPublicKey
    /// The message's fields.
    public let message: PDU.Message

    /// Describes the sealing of a message.
    public init(_ kind: Kind, of message: PDU.Message, at service: EncryptionPublicKey) {
      self.kind = kind
      self.message = message
      self.service = service
      sender = kind == .copy ? message.to : message.from
      receiver = kind == .copy ? message.recipient : message.to
    }

    /// The mark of the data, or nil for data of version 1.
    public static func kind(of data: some Collection<UInt8>) -> Kind? {
      guard data.starts(with: mark) else { return nil }
      return data.dropFirst(mark.count).first.flatMap(Kind.init(rawValue:))
    }

    /// Seals.
    ///
    /// - Parameters:
    ///   - plain: what is sealed: the content, or of a post a ``SignedContent``.
    ///   - fresh: a pair that seals nothing else.
    /// - Returns: nil if the receiver's key is of low order.
    public func seal(
      _ plain: [UInt8], with pair: EncryptionKeyPair, fresh: EncryptionKeyPair
    ) -> [UInt8]? {
      guard
        let keys = keys(.agreement(fresh, receiver), .agreement(pair, receiver), fresh.publicKey)
      else { return nil }
      var writer = ByteWriter(capacity: plain.count + Self.overhead)
      writer.write(Self.mark)
      writer.write(kind.rawValue)
      writer.write(fresh.publicKey)
      let start = writer.bytes.count
      writer.write([UInt8](repeating: 0, count: BoxKey.tagLength))
      writer.write(plain)
      BoxKey(keys, at: 0).seal(
        start..<writer.bytes.count, of: &writer.bytes, nonce: keys.reveal(BoxNonce.self, at: 32))
      return writer.bytes
    }

    /// Opens.
    ///
    /// - Returns: what was sealed, or nil if it does not open.
    public func open(_ data: [UInt8], with pair: EncryptionKeyPair) -> [UInt8]? {
      guard Self.kind(of: data) == kind, data.count >= Self.overhead,
        let fresh = EncryptionPublicKey(data[8..<40]),
        let keys = keys(.agreement(pair, fresh), .agreement(pair, sender), fresh)
      else { return nil }
      return BoxKey(keys, at: 0).open(data[40...], nonce: keys.reveal(BoxNonce.self, at: 32))
    }

    /// The key, and the nonce behind it: `M` of the page.
    private func keys(
      _ first: SecretDigest.Part, _ second: SecretDigest.Part, _ fresh: EncryptionPublicKey
    ) -> SecretDigest? {
      var rest = ByteWriter(capacity: 200)
      rest.write(fresh)
      rest.write(service)
      rest.write(sender)
      rest.write(receiver)
      rest.write(message.to)
      rest.write(message.from)
      rest.write(message.time)
      return SecretDigest(of: [
        .bytes(Version2.label("seal") + [kind.rawValue]), first, second, .bytes(rest.bytes),
      ])
    }
  }

  /// The content of a post, signed by who posts it.
  public struct SignedContent: Hashable, Sendable {
    /// The signature, or zero for a post of version 1, which nobody signed.
    public let signature: Signature
    /// The content.
    public let content: [UInt8]

    /// Takes a content and its signature.
    public init(_ content: [UInt8], signature: Signature) {
      self.content = content
      self.signature = signature
    }

    /// Signs a content.
    public init(
      _ content: [UInt8], of message: PDU.Message, at service: EncryptionPublicKey,
      by pair: AuthenticationKeyPair
    ) {
      self.init(content, signature: pair.sign(Self.signed(content, of: message, at: service)))
    }

    /// Takes what was sealed.
    ///
    /// - Returns: nil if it is shorter than a signature.
    public init?(_ plain: [UInt8]) {
      guard let signature = Signature(plain.prefix(Signature.byteCount)) else { return nil }
      self.init([UInt8](plain.dropFirst(Signature.byteCount)), signature: signature)
    }

    /// The content that is sealed.
    public var bytes: [UInt8] { signature.bytes + content }

    /// Returns whether the poster has signed it.
    public func isSigned(
      _ message: PDU.Message, at service: EncryptionPublicKey, by key: AuthenticationPublicKey
    ) -> Bool { key.verifies(signature, over: Self.signed(content, of: message, at: service)) }

    private static func signed(
      _ content: [UInt8], of message: PDU.Message, at service: EncryptionPublicKey
    ) -> [UInt8] {
      var writer = ByteWriter(capacity: 190)
      writer.write(Version2.label("post"))
      writer.write(service)
      writer.write(message.to)
      writer.write(message.from)
      writer.write(message.time)
      writer.write(SHA512.hash(content))
      return writer.bytes
    }
  }
}
