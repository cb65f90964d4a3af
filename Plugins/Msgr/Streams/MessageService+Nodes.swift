internal import Bus
internal import MsgrProtocol
internal import Observability
internal import Storage

// What nodes that share the store tell each other. A notice, or that one may be lost, is only a reason to look.
extension MessageService {
  /// Tells a user's streams, on all nodes, that there is news in the user's log.
  func tellNews(of name: UserName) {
    bringNews(to: name)
    if store.isShared { bus.publish([NodeNews.log(name).notice]) }
  }

  /// Closes the streams, on all nodes, whose tokens have ended.
  func end(_ tokens: [TokenHash]) {
    hub.end(tokens)
    guard store.isShared else { return }
    for start in stride(from: 0, to: tokens.count, by: NodeNews.tokensAtOnce) {
      let some = tokens[start...].prefix(NodeNews.tokensAtOnce)
      bus.publish([NodeNews.ended(Array(some)).notice])
    }
  }

  /// Does what other nodes' notices ask for, until the bus is closed.
  func hearNodes() async {
    for await event in bus.events(of: MsgrService.name) {
      switch event {
      case .notices(let notices): for notice in notices { hear(notice) }
      case .mayHaveMissed:
        do { try await look() } catch { log.debug("can't look yet", ["cause": "\(error)"]) }
      }
    }
  }

  private func hear(_ notice: Notice) {
    switch NodeNews(notice) {
    case .log(let name): bringNews(to: name)
    case .ended(let tokens): hub.end(tokens)
    case .notice(let name, let text, let device): show(text, to: name, besides: device)
    case .failure(let failure): passwords.note(failure)
    case nil: break
    }
  }

  /// Compares what the streams know with the store.
  private func look() async throws {
    let streams = hub.streams
    if !streams.isEmpty {
      for (name, last) in try await store.lastIDs(of: Array(Set(streams.map(\.token.name)))) {
        if let feed = hub.feed(of: name), feed.position < last { bringNews(to: name) }
      }
      hub.end(try await store.endedAtOnce(of: hub.tokens))
    }
    let noted = try await store.streams(of: node)
    // Another node may have taken this one for dead.
    for stream in streams where !noted.contains(stream.id.number) {
      try await store.begin(stream.id, of: stream.token, after: stream.start)
    }
    let present = Set(streams.map(\.id.number)).union(hub.streams.map(\.id.number))
    for number in noted where !present.contains(number) {
      try await store.end(MsgrStore.NodeStream(node: node, number: number))
    }
  }
}
