internal import HTTPProtocol

extension FieldName {
  static let accessControlAllowHeaders = FieldName("Access-Control-Allow-Headers")
  static let accessControlAllowMethods = FieldName("Access-Control-Allow-Methods")
  static let accessControlAllowOrigin = FieldName("Access-Control-Allow-Origin")
  static let accessControlExposeHeaders = FieldName("Access-Control-Expose-Headers")
  static let accessControlMaxAge = FieldName("Access-Control-Max-Age")
}

/// The header fields that the repository's answers share.
struct AnswerFields: Sendable {
  /// Of every file, list and 304: which requests it is the answer to, and that it is asked for anew.
  let common: HeaderFields
  /// Of an error: browsers may see it, caches ask anew.
  let errors: HeaderFields
  /// Of the 204 to `OPTIONS`, which a browser sends ahead (Fetch standard, CORS preflight).
  let options: HeaderFields

  /// The fields.
  ///
  /// - Parameter dependsOnClient: whether the client's name and version decide between answers.
  init(dependsOnClient: Bool) {
    let client = "X-Client-Name, X-Client-Version, X-Platform-Name"
    var open = HeaderFields()
    open.append(.accessControlAllowOrigin, "*")
    open.append(.accessControlExposeHeaders, "ETag, Last-Modified, Link")
    var options = open
    // A 404 of today is no answer for tomorrow, when the file is published.
    open.append(.cacheControl, "no-cache")
    errors = open

    var common = open
    common.append(
      .vary, "Accept, Accept-Encoding" + (dependsOnClient ? ", \(client)" : ""))
    self.common = common

    options.append(.accessControlAllowMethods, "GET, HEAD, OPTIONS")
    options.append(
      .accessControlAllowHeaders,
      "Accept, If-Modified-Since, If-None-Match, \(client), X-Platform-Version")
    options.append(.accessControlMaxAge, "86400")
    self.options = options
  }

  /// Of a file as any XML.
  static let ofXML = ofContent("text/xml; charset=UTF-8")
  /// Of a file as the TokenScript that it is.
  static let ofTokenScript = ofContent("application/tokenscript+xml; charset=UTF-8")

  private static func ofContent(_ type: String) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(.contentType, type)
    fields.append(contentsOf: ofForeignContent)
    return fields
  }

  /// Of what other people wrote: on this origin it is data and nothing else.
  static let ofForeignContent = {
    var fields = HeaderFields()
    fields.append(.contentTypeOptions, "nosniff")
    fields.append(.contentSecurityPolicy, "sandbox; default-src 'none'")
    return fields
  }()

  /// Of the page for people: its own style and form, and no script, so nothing of what it shows can be
  /// more than text.
  static let ofIndexPage = {
    var fields = HeaderFields()
    fields.append(.contentTypeOptions, "nosniff")
    fields.append(.contentSecurityPolicy, IndexPageStyle.contentSecurityPolicy)
    fields.append(.referrerPolicy, "no-referrer")
    return fields
  }()
}
