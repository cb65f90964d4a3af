internal import HTTPProtocol
internal import Formats
internal import Routing

extension HTTPError {
  /// Makes a refusal with the name that clients know it by, and what is wrong with fields of the header, which begin with a
  /// capital letter, or of the body.
  init(_ status: Status, _ name: String, _ message: String, _ fields: [String: String] = [:]) {
    self.init(status, message)
    members = fields
    members["name"] = name
  }

  /// The name of the refusal of a message that isn't the relay's.
  static let forgery = "webhook_validation_failed"

  /// Makes the refusal of a message that isn't the relay's.
  static func forged(_ message: String, _ fields: [String: String] = [:]) -> HTTPError {
    HTTPError(.unauthorized, forgery, message, fields)
  }

  /// Makes the refusal of a field of the body.
  static func field(_ name: String, _ fault: String) -> HTTPError {
    HTTPError(.badRequest, "field", "\(name) \(fault)", [name: fault])
  }

  /// The refusal of a request that isn't, or not well, signed by its client.
  static var authentication: HTTPError {
    HTTPError(
      .unauthorized, "authentication", "the provided authentication is not sufficient",
      ["Authorization": "invalid authorization token"])
  }

  /// The response to a failure, as WalletConnect's push server writes it.
  var failure: Response {
    var members = members
    let names: [Status: String] = [.contentTooLarge: "body", .tooManyRequests: "rate_limited"]
    let name = members.removeValue(forKey: "name") ?? names[status] ?? "unavailable"
    let fields = members.sorted { $0.key < $1.key }.map { field, fault in
      let location = field.first?.isUppercase == true ? "header" : "body"
      return
        #"{"field":"\#(field)","description":"\#(fault.escapedInJSON)","location":"\#(location)"}"#
    }
    return Response(
      status, type: "application/json",
      text:
        #"{"status":"FAILURE","errors":[{"name":"\#(name)","message":"\#(message.escapedInJSON)"}],"#
        + #""fields":[\#(fields.joined(separator: ","))]}"#)
  }
}

extension Response {
  /// Makes the response to a request that is done.
  static func success(_ status: Status) -> Response {
    Response(
      status, type: "application/json", text: #"{"status":"SUCCESS","errors":null,"fields":null}"#)
  }
}
