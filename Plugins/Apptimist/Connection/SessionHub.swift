internal import Cluster
internal import Cryptography
internal import Formats
internal import Storage

/// The sessions that are logged in.
typealias SessionHub = Hub<EncryptionPublicKey, SessionConnection>

extension Hub where User == EncryptionPublicKey, Member == SessionConnection {
  /// Closes the sessions of version 1 that a user has. What they have asked for meanwhile is not done, as their logins hold
  /// no more; one that is just logging in is closed when it reads.
  func closeVersion1(of user: EncryptionPublicKey) async {
    for session in members(of: user) where session.isVersion1 {
      leave(session.id, of: user)
      await session.evicted()
    }
  }

  /// Closes the sessions of a user whose account is deleted, but for the one that was asked for it.
  func closeAll(of user: EncryptionPublicKey, but session: SessionID? = nil) {
    for member in members(of: user) where member.id != session {
      member.close(1008, reason: "the account is deleted")
    }
  }
}

/// The number of a session in this process.
struct SessionID: Hashable, Sendable {
  let number: UInt64
}

/// A session among those of all nodes.
struct NodeSession: Hashable, Sendable {
  let node: NodeID
  let session: SessionID
}

extension SessionID: DatabaseValueConvertible {
  init?(databaseValue: DatabaseValue) {
    guard let number = Int64(databaseValue: databaseValue) else { return nil }
    self.init(number: UInt64(bitPattern: number))
  }

  var databaseValue: DatabaseValue { Int64(bitPattern: number).databaseValue }
}

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
