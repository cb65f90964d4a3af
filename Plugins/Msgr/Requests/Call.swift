internal import Formats
internal import Cryptography
internal import HTTPProtocol

/// A request with its fields read.
struct Call: Sendable {
  let fields: FieldValues
  /// The client's network, which limits count by.
  let network: ClientNetwork?
  private let token: TokenHash?

  init(_ request: Request) throws(FieldError) {
    fields = try FieldValues(request)
    network = request.origin.client
    token = Self.token(request)
  }

  /// Returns the token of a request, if there is one.
  static func token(_ request: Request) -> TokenHash? {
    request.head.first(.authorization).flatMap(BearerToken.hash(inAuthorization:))
  }

  /// Returns the credentials: a token if there is one, else a name and a password.
  func credentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> Credentials {
    guard let token else {
      return try passwordCredentials(name: field, acceptsMisspelling: acceptsMisspelling)
    }
    return .token(token, claiming: fields.has(field) ? try fields.name(field) : nil)
  }

  /// Returns a name and a password as credentials, whether there is a token or not.
  func passwordCredentials(
    name field: FieldID = .username, acceptsMisspelling: Bool = false
  ) throws(FieldError) -> Credentials {
    .password(
      try fields.name(field), try fields.password(acceptsMisspelling: acceptsMisspelling),
      from: network)
  }

  /// Returns the token whose digest a client has kept that has forgotten the token itself; nil if there is none.
  func digestedToken() throws(FieldError) -> Credentials? {
    guard fields.has(.tokenDigest) else { return nil }
    return .token(TokenHash(hex: try fields.text(.tokenDigest)) ?? .none, claiming: nil)
  }

  /// Returns the device of a login.
  func device() throws(FieldError) -> DeviceLogin {
    DeviceLogin(device: try fields.device(), name: try fields.deviceName())
  }

  /// Returns the invitation, if there is one.
  func invitation() throws(FieldError) -> InvitationHash? {
    fields.has(.invitation) ? InvitationHash(ofToken: try fields.text(.invitation)) : nil
  }
}
