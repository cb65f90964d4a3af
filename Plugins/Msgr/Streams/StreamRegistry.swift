internal import Cluster
internal import Storage

extension MessageID: EntryPosition {}

/// The open streams of this node.
typealias StreamHub = Hub<UserName, MessageStream>

extension Hub where User == UserName, Member == MessageStream {
  /// Closes the streams of a user whose tokens have ended.
  func end(_ tokens: some Collection<TokenHash>, of name: UserName) {
    for stream in members(of: name) where tokens.contains(stream.token.hash) {
      stream.end("the token has ended")
    }
  }

  /// Closes streams whose tokens have ended.
  func end(_ tokens: Set<TokenHash>) {
    guard !tokens.isEmpty else { return }
    for (name, _) in members { end(tokens, of: name) }
  }

  /// Tells all streams of a user, but for those of one device, that the user has read messages.
  func showRead(
    from sender: UserName, upTo last: MessageID, to name: UserName, besides device: DeviceID?
  ) {
    // Text can always be encoded.
    let notice = try? JSONText.of(["Read": ["With": sender.text, "Id": last.text]])
    guard let notice else { return }
    for stream in members(of: name) where stream.token.device != device { stream.tell(notice) }
  }
}

/// The streams of all nodes that share the store.
struct StreamRegistry: MemberRegistry {
  let node: NodeID
  let store: MsgrStore
  let hub: StreamHub
  let passwords: PasswordVerifier

  func key(of user: UserName) -> [UInt8] { Array(user.text.utf8) }

  func user(withKey key: [UInt8]) -> UserName? {
    UserName(stored: String(decoding: key, as: UTF8.self))
  }

  func hear(_ content: [UInt8], of key: [UInt8]) async {
    guard let name = user(withKey: key), let message = NodeMessage(content) else { return }
    switch message {
    case .ended(let tokens): hub.end(tokens, of: name)
    case .read(let last, let device):
      guard hub.hasMembers(of: name),
        // Without the store's help nothing is shown, on which nothing depends.
        let sender = try? await store.correspondent(of: name, at: last)
      else { return }
      hub.showRead(from: sender, upTo: last, to: name, besides: device)
    case .failure(let network, let isFamiliar):
      passwords.note(FailedLogins.Failure(name: name, network: network, isFamiliar: isFamiliar))
    }
  }

  func entries(
    at places: [(user: UserName, position: MessageID)]
  ) async throws -> [(user: UserName, entry: Entry<MessageID, StreamedMessage>)] {
    try await store.entries(at: places).map { item in
      let message = try StreamedMessage(item.message)
      return (item.user, Entry(message, at: item.message.id, after: item.predecessor))
    }
  }

  func look(
    at members: [(user: UserName, member: MessageStream)]
  ) async throws -> [(user: UserName, last: MessageID)] {
    hub.end(try await store.endedAtOnce(of: members.map(\.member.token.hash)))
    return try await store.lastIDs(of: Array(Set(members.map(\.user))))
  }

  func noted() async throws -> Set<Int64>? { try await store.streams(of: node) }

  func note(_ stream: MessageStream, of user: UserName, wasNoted: Bool) async throws {
    try await store.begin(stream.id, of: stream.token, after: stream.start)
  }

  func forget(_ id: Int64) async throws { try await store.end(id) }
}
