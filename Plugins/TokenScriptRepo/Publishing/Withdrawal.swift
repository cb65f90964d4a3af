internal import Cryptography
internal import FoundationEssentials
internal import HTTPProtocol
internal import Routing
internal import Platform
internal import XMLSecurity

/// A signed statement that withdraws a published file: the value of `Authorization` with the scheme `TokenScript`.
struct Withdrawal: Sendable {
  /// The time that a statement counts before and after its own.
  static let tolerance = Duration.seconds(300)

  /// The time of the statement as it is signed: RFC 3339 in UTC.
  let time: String
  /// The signature.
  let signature: [UInt8]

  /// The value of `Authorization`.
  var fieldValue: String {
    "TokenScript time=\"\(time)\", signature=\"\(Data(signature).base64EncodedString())\""
  }

  /// Returns the signed text: four lines.
  ///
  /// - Parameters:
  ///   - digest: the SHA-256 of the file.
  static func message(url: String, digest: SHA256.Digest, time: String) -> [UInt8] {
    Array("DELETE\n\(url)\n\(digest.hex)\n\(time)\n".utf8)
  }

  /// Checks the time of the statement.
  ///
  /// - Throws: ``HTTPError`` with status 400.
  func check(now: Timestamp) throws(HTTPError) {
    guard time.hasSuffix("Z"), let moment = Timestamp(dateTime: time) else {
      throw HTTPError(.badRequest, "time: expected RFC 3339 in UTC, such as 2026-11-22T19:00:00Z")
    }
    guard moment <= now + Self.tolerance, now <= moment + Self.tolerance else {
      throw HTTPError(
        .badRequest, "the statement’s time is more than 5 minutes from the server’s, \(now)")
    }
  }

  private static func unauthorized(_ message: String) -> HTTPError {
    let fields = ResponseHeaders.fields([FieldName("WWW-Authenticate"): "TokenScript"])
    return HTTPError(.unauthorized, message, fields: fields)
  }
}

extension Withdrawal {
  /// Reads the value of `Authorization`: `TokenScript time="…", signature="…"`, the signature in Base64; the quotes may be
  /// missing.
  ///
  /// - Throws: ``HTTPError`` with status 401.
  init(_ value: String?) throws(HTTPError) {
    let scheme = "TokenScript "
    guard let value, value.lowercased().hasPrefix(scheme.lowercased()) else {
      throw Self.unauthorized("expected a signed statement with the scheme TokenScript")
    }
    var parameters: [String: String] = [:]
    for part in value.dropFirst(scheme.count).split(separator: ",") {
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { continue }
      let text = pair[1].hasPrefix("\"") ? pair[1].dropFirst().prefix { $0 != "\"" } : pair[1]
      parameters[pair[0].lowercased()] = text.filter { $0 != " " }
    }
    guard let time = parameters["time"],
      let signature = parameters["signature"].flatMap({ Data(base64Encoded: $0) })
    else { throw Self.unauthorized("expected time=\"…\", signature=\"…\" in Base64") }
    self.init(time: time, signature: [UInt8](signature))
  }
}
