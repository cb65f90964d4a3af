/// The fields of requests, by the names that the protocol gives them.
package enum FieldID: String, CaseIterable, Sendable {
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

  /// Finds the field with exactly this name; `String` would take canonical equivalents as equal.
  init?(exactly name: String) {
    guard let field = FieldID(rawValue: name), field.rawValue.utf8.elementsEqual(name.utf8) else {
      return nil
    }
    self = field
  }
}
