/// A fault in a field of a request, reported with status 400.
struct FieldError: Error, Hashable {
  /// The field, or nil if the fault is the whole body's.
  let field: FieldID?
  /// The fault in words for the caller, without any part of the value.
  let message: String

  /// The fault of a body that ``JSONObjectReader`` doesn't take.
  static let noObject = FieldError(
    nil, "the body is no JSON object, or has a name twice, half a character or too large a number")

  init(_ field: FieldID?, _ message: String) {
    (self.field, self.message) = (field, message)
  }

  /// The fault as a sentence that names the field.
  var sentence: String { field.map { "\($0.rawValue) \(message)" } ?? message }
}
