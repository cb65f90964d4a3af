internal import ApptimistProtocol
internal import Cryptography

/// A request to the service, which each version of the protocol puts into its own words.
enum DeviceRequest {
  /// The subject of a search.
  enum Search {
    case name(ShortBytes)
    case uid(ShortBytes)
    case key(EncryptionPublicKey)
  }

  /// The operation on a file.
  enum FileAction {
    case read
    case lock
    case write([UInt8])
    case remove
  }

  case send(OutgoingMessage)
  case truncate(MessageID)
  case search(Search, Version2.PageQuery = Version2.PageQuery())
  case vouch(EncryptionPublicKey, isTakenBack: Bool)
  case vouchers(EncryptionPublicKey, Version2.PageQuery = Version2.PageQuery())
  case file(FileAction, EncryptionPublicKey, Filename)
  case makeForum(AccountName, DeviceKeys, Version2.Flags)
  case deleteForum(EncryptionPublicKey)
  /// Have the device woken at an address, or no more.
  case push(Version2.PushBinding?)
  case leave
  case join(EncryptionPublicKey)

  /// True if it may be sent again when it isn't known whether it was done.
  var isRepeatable: Bool {
    switch self {
    case .file(.read, _, _): true
    case .file, .leave: false
    default: true
    }
  }

  /// The bytes of its data.
  var dataLength: Int {
    switch self {
    case .send(let message): message.box.count
    case .file(.write(let content), _, _): content.count
    case .push(let binding?): binding.data.count
    default: 0
    }
  }

  /// The bytes that it takes on the wire, roughly.
  var cost: Int { dataLength + 256 }
}
