internal import Formats
internal import Storage

/// The one for whom a query is dealt with.
struct Requester: Sendable {
  let session: SessionID
  /// The client's network, or nil if it came by a Unix socket.
  let network: ClientNetwork?
  /// The account for which the session has logged in, or nil if it has not.
  let login: AccountLogin?

  /// The owner of the work that the query makes.
  var owner: WorkOwner? {
    guard let login else { return WorkOwner(client: network, account: session) }
    return WorkOwner(client: network, account: login.user)
  }

  /// Returns the account for which the session has logged in, without which nothing is changed.
  func loggedIn() throws -> AccountLogin {
    guard let login else { throw NotLoggedIn() }
    return login
  }

  private struct NotLoggedIn: Error {}
}
