public import Cryptography

internal import Formats

extension Version2 {
  /// Binds a push address to the session's user and device, or unbinds it.
  public struct Push: HeaderField, Hashable, Sendable {
    /// The number of a ``PushBinding/Kind``; 0 unbinds, and all else is 0 then.
    public var kind: UInt8
    /// Bit 0: nobody wakes but the keys; else everybody but they.
    public var flags: UInt8
    /// The bytes that come back in each wake.
    public var tag: PushTag
    /// The number of keys in the data.
    public var keyCount: UInt16
    /// The bytes of the address in the data.
    public var addressLength: UInt16

    /// Makes the PDU's fields, or those that unbind.
    public init(_ binding: PushBinding?) {
      kind = binding?.kind.rawValue ?? 0
      flags = binding?.isChosen == true ? 1 : 0
      tag = binding?.tag ?? PushTag()
      keyCount = UInt16(clamping: binding?.keys.count ?? 0)
      addressLength = UInt16(clamping: binding?.address.count ?? 0)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      kind = try reader.field()
      flags = try reader.field()
      tag = try reader.field()
      keyCount = try reader.field()
      addressLength = try reader.field()
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: kind, flags, tag, keyCount, addressLength)
    }
  }

  /// The 8 bytes by which an app with several accounts knows which one a wake is for.
  public struct PushTag: FixedBytes {
    private var value: UInt64 = 0

    /// Makes 8 zero bytes.
    public init() {}
  }

  /// A phone's or browser's push address, and whose messages wake it.
  public struct PushBinding: Hashable, Sendable {
    /// The kinds of addresses.
    public enum Kind: UInt8, CaseIterable, Sendable {
      /// An APNs device token, of 32 to 100 bytes.
      case apns = 1
      /// The same, of an app that Xcode has signed.
      case apnsSandbox
      /// The UTF-8 form of an FCM registration token.
      case fcm
      /// A browser's public key (65 bytes), its secret (16 bytes) and its endpoint.
      case web
    }

    /// The kind of ``address``.
    public var kind: Kind
    /// The address.
    public var address: [UInt8]
    /// The bytes that come back in each wake.
    public var tag: PushTag
    /// True if nobody wakes the device but ``keys``; else everybody but they.
    public var isChosen: Bool
    /// Users and forums, at most 256.
    public var keys: [EncryptionPublicKey]

    /// Describes a binding; without keys everybody wakes the device.
    public init(
      _ kind: Kind, _ address: [UInt8], tag: PushTag = PushTag(), isChosen: Bool = false,
      keys: [EncryptionPublicKey] = []
    ) {
      self.kind = kind
      self.address = address
      self.tag = tag
      self.isChosen = isChosen
      self.keys = keys
    }

    /// The address and the keys.
    public var data: [UInt8] { address + keys.flatMap(\.bytes) }
  }
}
