/// A file beside a message, here or elsewhere.
struct MessageAttachment: Hashable, Sendable, Codable {
  /// The file's name, without folders.
  let name: String
  /// The media type, without parameters.
  var type: String?
  /// The length in bytes.
  var size: Int?
  /// The moment at which the file goes, in seconds since 1970; nil for a file elsewhere.
  var expires: Int64?
  let url: String

  private enum CodingKeys: String, CodingKey {
    case name = "Name"
    case type = "Type"
    case size = "Size"
    case expires = "Expires"
    case url = "Url"
  }
}
