package import Cryptography

/// A device's session, of whichever version the device has asked for.
package enum SessionMachine: ~Copyable {
  case version1(Session)
  case version2(Version2Session)

  /// Takes an event; see ``Session/handle(_:)``.
  package mutating func handle(_ event: SessionEvent) -> SessionActions {
    switch consume self {
    case .version1(var session):
      let actions = session.handle(event)
      self = .version1(session)
      return actions
    case .version2(var session):
      let actions = session.handle(event)
      self = .version2(session)
      return actions
    }
  }

  /// Whether nothing can be received until a reply comes.
  package var isWaiting: Bool {
    switch self {
    case .version1(let session): session.isWaiting
    case .version2(let session): session.isWaiting
    }
  }

  /// Whether the connection is closed, or about to be.
  package var isOver: Bool {
    switch self {
    case .version1(let session): session.isOver
    case .version2(let session): session.isOver
    }
  }

  /// The user who is logged in, or nil if there is none.
  package var user: EncryptionPublicKey? {
    switch self {
    case .version1(let session): session.user
    case .version2(let session): session.user
    }
  }

  /// Whether the session is one of version 1.
  package var isVersion1: Bool {
    switch self {
    case .version1: true
    case .version2: false
    }
  }

  /// Decides whether to read the user's mailbox; see ``Session/nextRead()``.
  package mutating func nextRead() -> StreamPosition? {
    switch consume self {
    case .version1(var session):
      let position = session.nextRead()
      self = .version1(session)
      return position
    case .version2(var session):
      let position = session.nextRead()
      self = .version2(session)
      return position
    }
  }
}
