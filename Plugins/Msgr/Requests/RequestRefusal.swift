internal import FoundationEssentials
internal import HTTPProtocol
internal import HTTPServer
internal import Routing

/// The reason why a request is not done.
enum RequestRefusal: Error, Hashable, Sendable {
  /// The credentials are wrong, or the act isn't allowed.
  case forbidden
  /// The caller is known, and isn't allowed to do this, for a reason that it may know.
  case denied(Denial)
  /// An account needs an invitation, and the given one doesn't exist, is used up or has expired.
  case badInvitation
  /// The caller has done this too often, and may try again after some seconds.
  case tooMany(retryAfter: Int)
  /// Too many passwords wait to be checked.
  case busy
  /// All places for streams are taken.
  case tooManyStreams(retryAfter: Int)
  /// The endpoint of a wallet's chain doesn't tell whether a signature is good.
  case chainFails
  /// The message doesn't fit into a push.
  case tooLong
  /// The caller has as many contacts, blocked users or tokens as an account may.
  case tooManyContacts
  /// The client's name for the message is another message's.
  case otherMessage
  /// There is so little room on the disk that only known users' data is stored.
  case noRoom
  /// Nobody makes an account by a request.
  case noSignup
}

/// The reason why somebody whose credentials are good isn't allowed to do something.
///
/// The requests of the original protocol have no words for it.
enum Denial: Hashable, Sendable {
  case noPublisherToken, notARecipient, noSuchRecipient, tokenNameTaken
  case noSessionToken, noBrowser, noSuchSession, noSuchUser
  case noSuchWallet, lastWallet, nobodysWallet

  /// The reason in words for the client.
  var words: String {
    switch self {
    case .noPublisherToken:
      "the token is missing, wrong or has ended, or is not one that publishes: make one by /tokens"
    case .notARecipient: "the token has no such recipient: /tokens makes one that has"
    case .noSuchRecipient: "a name in To is no user's"
    case .tokenNameTaken: "there is a token of this Name already: choose another, or end that one"
    case .noSessionToken: "this is about a session: send its token as Authorization: Bearer"
    case .noBrowser: "the session's device is a phone, which gets its pushes otherwise"
    case .noSuchSession: "there is no such session: it may have ended already"
    case .noSuchUser: "there is no such user"
    case .noSuchWallet: "the account has no such wallet"
    case .lastWallet: "the account's last wallet stays, as there is no password: set one first"
    case .nobodysWallet: "nobody has this wallet on this chain"
    }
  }
}

extension HTTPError {
  /// Makes the response to a request whose caller isn't allowed to do this. Pages that have words of their own know it by its
  /// code.
  init(denied words: String) {
    self.init(.forbidden, words)
    members["code"] = "denied"
  }

  /// Makes the response to a request that is refused or has a faulty field, or returns nil for any other error.
  init?(refusing error: any Error) {
    switch error {
    case let refusal as TopicRefusal: self.init(refusing: refusal)
    case is RequestBody.Interrupted: self.init(.badRequest, "the body was cut")
    case let fault as FieldError:
      self.init(.badRequest, fault.sentence)
      members["field"] = fault.field?.rawValue
    case RequestRefusal.forbidden: self.init(.forbidden)
    case RequestRefusal.denied(let denial): self.init(denied: denial.words)
    case RequestRefusal.badInvitation:
      self.init(.forbidden, "the invitation is missing, unknown, used up or over: ask for another")
      members["code"] = "invitation"
    case RequestRefusal.tooMany(let seconds): self.init(.tooManyRequests, retryAfter: seconds)
    case RequestRefusal.busy:
      self.init(.serviceUnavailable, "too many passwords wait to be checked", retryAfter: 1)
    case RequestRefusal.chainFails:
      self.init(.serviceUnavailable, "the wallet's chain can't be asked now", retryAfter: 10)
    case RequestRefusal.tooManyStreams(let seconds):
      self.init(.serviceUnavailable, "too many streams are open", retryAfter: seconds)
    case RequestRefusal.tooManyContacts:
      self.init(.forbidden, "the account has as many of these as it may have")
    case RequestRefusal.otherMessage:
      self.init(.conflict, "this ClientId was another message's")
    case RequestRefusal.noRoom:
      self.init(
        .serviceUnavailable, "the server has too little room to store this", retryAfter: 600)
    case RequestRefusal.noSignup:
      self.init(.forbidden, "accounts are made by the operator only")
      members["code"] = "signup"
    case RequestRefusal.tooLong:
      self.init(.contentTooLarge, "the message does not fit into a push of 4,096 bytes")
    default: return nil
    }
  }
}

/// The JSON that the service writes.
enum JSONText {
  /// Encodes a value as JSON in UTF-8, with sorted keys.
  static func of(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
