internal import HTTPProtocol
internal import Routing

extension FieldName {
  static let accessControlAllowHeaders = FieldName("Access-Control-Allow-Headers")
  static let accessControlAllowMethods = FieldName("Access-Control-Allow-Methods")
  static let accessControlAllowOrigin = FieldName("Access-Control-Allow-Origin")
  static let accessControlExposeHeaders = FieldName("Access-Control-Expose-Headers")
  static let accessControlMaxAge = FieldName("Access-Control-Max-Age")
}

/// The header fields that the repository's responses share.
struct ResponseHeaders: Sendable {
  /// The fields of files, lists and 304 responses: caches revalidate them, and distinguish requests.
  let common: HeaderFields
  /// The fields of errors: scripts of other origins may read them, and caches revalidate them.
  let errors: HeaderFields
  /// The fields of the response to `OPTIONS`, a browser's preflight (Fetch standard, section 3.2.2).
  let options: HeaderFields

  /// Makes the fields.
  ///
  /// - Parameters:
  ///   - dependsOnClient: whether responses depend on the client's name and version.
  ///   - takesFiles: whether files may be published.
  init(dependsOnClient: Bool, takesFiles: Bool = false) {
    let client = "X-Client-Name, X-Client-Version, X-Platform-Name"
    let open = Self.fields([
      .accessControlAllowOrigin: "*", .accessControlExposeHeaders: "ETag, Last-Modified, Link",
    ])
    // The file that is missing today may be published tomorrow.
    errors = Self.fields([.cacheControl: "no-cache"], behind: open)
    common = Self.fields(
      [.vary: "Accept, Accept-Encoding" + (dependsOnClient ? ", \(client)" : "")], behind: errors)
    options = Self.fields(
      [
        .accessControlAllowMethods:
          "GET, HEAD, POST, \(takesFiles ? "PUT, DELETE, " : "")OPTIONS",
        .accessControlAllowHeaders: (takesFiles ? "Authorization, " : "")
          + "Accept, Content-Type, If-Modified-Since, If-None-Match, \(client), "
          + "X-Platform-Version, X-Stl-Key",
        .accessControlMaxAge: "86400",
      ], behind: open)
  }

  /// Makes fields of their names and values, behind others.
  static func fields(
    _ pairs: KeyValuePairs<FieldName, String>, behind others: HeaderFields = HeaderFields()
  ) -> HeaderFields { pairs.reduce(into: others) { $0.append($1.key, $1.value) } }

  /// Makes a response in JSON that isn't a file's, whatever the client accepts.
  func json(_ status: Status, _ value: some Encodable) throws -> Response {
    try Response(status, json: value).with(errors)
  }

  /// The fields of a file as general XML.
  static let xml = content("text/xml; charset=UTF-8")
  /// The fields of a file as a TokenScript.
  static let tokenScript = content("application/tokenscript+xml; charset=UTF-8")

  private static func content(_ type: String) -> HeaderFields {
    var fields = fields([.contentType: type])
    fields.append(contentsOf: foreignContent)
    return fields
  }

  /// The fields of content from other people: a browser must not run it on this origin.
  static let foreignContent = fields([
    .contentTypeOptions: "nosniff", .contentSecurityPolicy: "sandbox; default-src 'none'",
  ])
}

extension Response {
  /// Returns the response with further fields.
  func with(_ fields: HeaderFields...) -> Response {
    var response = self
    for more in fields { response.fields.append(contentsOf: more) }
    return response
  }
}

/// An object in JSON, which has each of its keys, with null for a missing value.
struct JSONObject: Encodable, Sendable, ExpressibleByDictionaryLiteral {
  /// The values by their keys.
  var values: [String: (any Encodable & Sendable)?]

  /// The object without the keys of missing values.
  var withoutNulls: JSONObject {
    var object = self
    object.values = values.filter { $0.value != nil }
    return object
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Makes an object of a literal.
  init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
    values = Dictionary(elements) { $1 }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (name, value) in values {
      guard let value else {
        try container.encodeNil(forKey: Name(stringValue: name))
        continue
      }
      try container.encode(value, forKey: Name(stringValue: name))
    }
  }
}
