internal import FoundationEssentials
extension Response {
  /// Makes a response with a JSON body.
  ///
  /// - Parameters:
  ///   - status: the status code.
  ///   - value: the body, which is encoded with sorted keys.
  /// - Throws: the error of the value's encoding.
  public init(_ status: Status, json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(status, body: .array(Array(try encoder.encode(value))))
    fields.append(.contentType, "application/json")
  }
}
