internal import Cluster
internal import Observability
internal import Push

// What follows when something is in the store: streams are told, on all nodes.
extension MessageService {
  /// Tells streams and outboxes of a delivery.
  func announce(_ delivery: Delivery) {
    if delivery.isStored { accepted.add() }
    for entry in delivery.entries { tell(entry) }
    pushes.wake(delivery.pushes)
  }

  private func tell(_ entry: LogEntry) {
    let id = entry.message.id
    link.tell(id, of: entry.user, on: entry.nodes)
    guard hub.hasMembers(of: entry.user) else { return }
    let news: StreamHub.News =
      if let message = try? StreamedMessage(entry.message) {
        .entry(Entry(message, at: id, after: entry.predecessor))
      } else { .stored(upTo: id) }
    hub.tell([(entry.user, news)])
  }

  /// Closes the streams, on all nodes, whose tokens have ended.
  func end(_ tokens: [BoundToken]) {
    for (name, tokens) in Dictionary(grouping: tokens, by: \.name) {
      let hashes = tokens.map(\.hash)
      hub.end(hashes, of: name)
      for start in stride(from: 0, to: hashes.count, by: NodeMessage.tokensAtOnce) {
        let some = hashes[start...].prefix(NodeMessage.tokensAtOnce)
        link.tellAll(NodeMessage.ended(Array(some)).bytes, of: name)
      }
    }
  }
}
