/// The fields of requests, by the names that the protocol gives them.
enum FieldID: String, CaseIterable, Sendable {
  case username = "Username"
  case userFrom = "UserFrom"
  case password = "Password"
  /// The protocol's own misspelling of `Password`, where a contact is added.
  case misspeltPassword = "Passwword"
  case deviceID = "DeviceID"
  case addUser = "AddUser"
  case userTo = "UserTo"
  case user = "User"
  case message = "Message"
  case since = "Since"
  /// The user's name for a device.
  case deviceName = "DeviceName"
  case invitation = "Invitation"
  case newPassword = "NewPassword"
  /// The client's name for a message.
  case clientID = "ClientId"
  /// The other user of a conversation.
  case with = "With"
  case before = "Before"
  case limit = "Limit"
  case id = "Id"
  /// The session to end.
  case end = "End"
  /// The SHA-256 of the token that ends.
  case tokenDigest = "TokenDigest"
  /// The name of a publisher.
  case name = "Name"
  /// The users to whom a publisher sends.
  case to = "To"
  case title = "Title"
  case priority = "Priority"
  case link = "Link"
  /// The address of a subscription at a push service, and its keys.
  case endpoint = "Endpoint"
  case p256dh = "P256dh"
  case auth = "Auth"
  /// The wish that a browser shows notifications by itself.
  case declarative = "Declarative"

  /// The address of a wallet, its chain, and its signature.
  case address = "Address"
  case chain = "Chain"
  case signature = "Signature"
  /// The address of a wallet that is no longer to log in.
  case remove = "Remove"

  /// Finds the field with exactly this name; `String` would take canonical equivalents as equal.
  init?(exactly name: String) {
    guard let field = FieldID(rawValue: name), field.rawValue.utf8.elementsEqual(name.utf8) else {
      return nil
    }
    self = field
  }
}
