internal import Cluster
internal import Cryptography
internal import Observability
internal import Push
internal import Storage

extension MsgrMessageID: EntryPosition {}

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

  /// Notifies all streams of a user, but for those of one device, that the user has read messages.
  func showRead(
    from sender: UserName, upTo last: MsgrMessageID, to name: UserName, besides device: DeviceID?
  ) {
    // Text can always be encoded.
    let notice = try? JSONText.of(["Read": ["With": sender.text, "Id": last.text]])
    guard let notice else { return }
    for stream in members(of: name) where stream.token.device != device { stream.show(notice) }
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

  func receive(_ content: [UInt8], of key: [UInt8]) async {
    guard let name = user(withKey: key), let message = NodeMessage(content) else { return }
    switch message {
    case .ended(let tokens): hub.end(tokens, of: name)
    case .read(let last, let device):
      guard hub.hasMembers(of: name),
        // Without the store's help nothing is shown, on which nothing depends.
        let sender = try? await store.correspondent(of: name, at: last)
      else { return }
      hub.showRead(from: sender, upTo: last, to: name, besides: device)
    case .failure(let place, let isFamiliar):
      guard let place = FailedLogins.Place(words: place) else { return }
      let login = FailedLogins.Login(name: name, place: place)
      passwords.record(FailedLogins.Failure(login: login, isFamiliar: isFamiliar))
    }
  }

  func entries(
    at places: [(user: UserName, position: MsgrMessageID)]
  ) async throws -> [(user: UserName, entry: StreamEntry<MsgrMessageID, StreamedMessage>)] {
    try await store.entries(at: places).map { item in
      let message = try StreamedMessage(item.message)
      return (item.user, StreamEntry(message, at: item.message.id, after: item.predecessor))
    }
  }

  func lastPositions(
    of members: [(user: UserName, member: MessageStream)]
  ) async throws -> [(user: UserName, last: MsgrMessageID)] {
    hub.end(try await store.endedAtOnce(of: members.map(\.member.token.hash)))
    return try await store.lastIDs(of: Array(Set(members.map(\.user))))
  }

  func registeredMembers() async throws -> Set<Int64>? { try await store.streams(of: node) }

  func register(_ stream: MessageStream, of user: UserName, wasRegistered: Bool) async throws {
    try await store.begin(stream.id, of: stream.token, after: stream.start)
  }

  func forget(_ id: Int64) async throws { try await store.end(id) }
}

/// A message from node to node about a user, beside new messages.
enum NodeMessage: Hashable, Sendable {
  /// Tokens of the user have ended.
  case ended([TokenHash])
  /// The user has read everything up to a message, whose sender the store knows, on a device.
  case read(upTo: MsgrMessageID, on: DeviceID?)
  /// A login failed.
  case failure(place: String, isFamiliar: Bool)

  /// The most tokens of one notice.
  static let tokensAtOnce = 16

  /// The bytes of a notice. The first differs from all of ``NotificationKind``.
  var bytes: [UInt8] {
    switch self {
    case .ended(let tokens): [1] + tokens.flatMap(\.digest.bytes)
    case .read(let last, let device):
      [2] + NotificationKind.bytes(last.rawValue) + Array((device?.text ?? "").utf8)
    case .failure(let place, let isFamiliar): [3, isFamiliar ? 1 : 0] + Array(place.utf8)
    }
  }

  /// Reads the bytes of a notice; nil if they are none of the service's.
  init?(_ bytes: [UInt8]) {
    let rest = bytes.dropFirst()
    switch bytes.first {
    case 1 where rest.count.isMultiple(of: 32):
      self = .ended(
        stride(from: rest.startIndex, to: rest.endIndex, by: 32).compactMap {
          TokenHash(rest[$0..<$0 + 32])
        })
    case 2:
      guard let last = NotificationKind.number(rest.prefix(8)) else { return nil }
      let device = String(decoding: rest.dropFirst(8), as: UTF8.self)
      self = .read(
        upTo: MsgrMessageID(rawValue: max(last, 0)),
        on: device.isEmpty ? nil : DeviceID(stored: device)
      )
    case 3:
      guard let isFamiliar = rest.first, isFamiliar <= 1 else { return nil }
      let place = String(decoding: rest.dropFirst(), as: UTF8.self)
      self = .failure(place: place, isFamiliar: isFamiliar == 1)
    default: return nil
    }
  }
}

// What follows a commit: streams are notified, on all nodes.
extension MessageService {
  /// Notifies streams and outboxes of what was stored.
  func publishEffects(_ delivery: SendReceipt) {
    if delivery.isStored { accepted.add() }
    for entry in delivery.entries { publish(entry) }
    store.pushes.countDropped(delivery.droppedPushes)
    pushes.send(delivery.leased)
    pushes.wake(delivery.pushes)
  }

  private func publish(_ entry: LogEntry) {
    let id = entry.message.id
    link.notify(id, of: entry.user, on: entry.nodes)
    guard hub.hasMembers(of: entry.user) else { return }
    let news: StreamHub.Update =
      if let message = try? StreamedMessage(entry.message) {
        .entry(StreamEntry(message, at: id, after: entry.predecessor))
      } else { .stored(upTo: id) }
    hub.publish([(entry.user, news)])
  }

  /// Closes the streams, on all nodes, whose tokens have ended.
  func end(_ tokens: [BoundToken]) {
    for (name, tokens) in Dictionary(grouping: tokens, by: \.name) {
      let hashes = tokens.map(\.hash)
      hub.end(hashes, of: name)
      for start in stride(from: 0, to: hashes.count, by: NodeMessage.tokensAtOnce) {
        let some = hashes[start...].prefix(NodeMessage.tokensAtOnce)
        link.notifyAll(NodeMessage.ended(Array(some)).bytes, of: name)
      }
    }
  }
}
