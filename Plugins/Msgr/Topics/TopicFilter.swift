/// Which entries a reader wants. What isn't a message is never filtered.
struct TopicFilter: Hashable, Sendable {
  var id: String?
  var message: String?
  var title: String?
  /// The levels from 1 to 5, any of which fits; empty for all.
  var levels: Set<Int> = []
  /// All of these.
  var tags: Set<String> = []

  func accepts(_ entry: TopicEntry) -> Bool {
    guard entry.event == .message else { return id == nil }
    if let id, entry.id != id { return false }
    if let message, entry.text != message { return false }
    if let title, entry.parts.title != title { return false }
    let level =
      entry.parts.priority.map(MessagePriority.level) ?? MessagePriority.defaultLevel
    if !levels.isEmpty, !levels.contains(level) { return false }
    return tags.isSubset(of: entry.parts.tags ?? [])
  }
}
