/// Why a field of a request can't be taken: answered with 400.
struct FieldError: Error, Hashable {
  /// The field's name as the protocol writes it; nil if the fault is the body's.
  let field: FieldID?
  /// What is wrong, in words for the caller; nothing of the value stands in it.
  let message: String

  init(_ field: FieldID?, _ message: String) {
    self.field = field
    self.message = message
  }
}

/// The fields that requests have.
enum FieldID: String, CaseIterable, Sendable {
  case username = "Username"
  case userFrom = "UserFrom"
  case password = "Password"
  /// How the protocol's text spells `Password` where a contact is added.
  case misspeltPassword = "Passwword"
  case deviceID = "DeviceID"
  case addUser = "AddUser"
  case userTo = "UserTo"
  case user = "User"
  case message = "Message"
  case since = "Since"
}
