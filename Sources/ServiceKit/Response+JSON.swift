internal import FoundationEssentials
public import HTTPProtocol

extension Response {
  /// A response with a JSON body.
  ///
  /// - Parameters:
  ///   - status: the status code.
  ///   - value: what is encoded, with its keys sorted.
  /// - Throws: what the value's encoding throws.
  public init(_ status: Status, json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(status, body: .array(Array(try encoder.encode(value))))
    fields.append(.contentType, "application/json")
  }
}
