/// The first reason for which a message signs nobody in, in words that have nothing of the message.
public enum SignInRefusal: String, Error, Sendable {
  /// The message doesn't follow the grammar.
  case malformed = "the message is none of ERC-4361’s"
  /// The address has no checksum, or a wrong one.
  case address = "the address is not written with its checksum (ERC-55)"
  /// The domain is another.
  case domain = "the message is for another domain"
  /// The URI is another, or the scheme isn't the URI's.
  case uri = "the message is for another URI"
  /// The version isn't 1.
  case version = "the message is of another version"
  /// The chain isn't one of those that may be named.
  case chain = "the message is for a chain that isn’t configured"
  /// The nonce is another.
  case nonce = "the nonce is not the one that is expected"
  /// The message was made too long ago.
  case tooOld = "the message is too old"
  /// The message is to be made yet.
  case future = "the message is from the future"
  /// The message's end is over.
  case expired = "the message has expired"
  /// The message's beginning is to come.
  case early = "the message isn’t good yet"
}
