internal import Cryptography
internal import Cluster

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
