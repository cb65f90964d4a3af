internal import Addresses
internal import Cryptography
internal import Storage

/// The one for whom a query is dealt with.
struct Requester: Sendable {
  let session: SessionID
  /// The client's network, or nil if it came by a Unix socket.
  let network: ClientNetwork?
  /// The user who is logged in, or nil if there is none.
  let user: EncryptionPublicKey?

  /// The owner of the work that the query makes.
  var owner: WorkOwner? {
    guard let user else { return WorkOwner(client: network, account: session) }
    return WorkOwner(client: network, account: user)
  }
}
