public import Addresses

/// The owner of memory that is charged.
public enum ChargeOwner: Sendable, Hashable {
  /// All clients at one address.
  case client(ClientNetwork)
  /// A user who has logged in, by a name that no other account of the server has.
  case account(String)
}
