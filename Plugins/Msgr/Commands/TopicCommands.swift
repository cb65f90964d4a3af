internal import ServiceKit

/// `awd topic list`.
struct TopicListCommand: Command {
  static let name = "topic list"
  static let summary = "List the topics"
  static let parameters = [CommandParameter.configuration, .json]

  static func run(_ context: CommandContext) async throws {
    let topics = try await context.topicStore().listing()
    if context.arguments.has("json") { return try context.print(json: topics) }
    for topic in topics {
      context.print(
        "\(topic.topic)\towner \(topic.owner?.printable ?? "-")\teveryone \(topic.everyone.rawValue)"
          + "\tmessages \(topic.messages)\tsubscribers \(topic.subscribers)\tused \(topic.used)")
    }
  }
}

/// `awd topic access`.
struct TopicAccessCommand: Command {
  static let name = "topic access"
  static let summary = "Show or set what everyone, or an account, may do with a topic"
  static let parameters = [
    CommandParameter.configuration, .json, .operand("TOPIC", "the topic"),
    .operands(
      "[WHO] [LEVEL]", atLeast: 0, "everyone or an account, and deny, read, write or read-write"),
  ]

  static func run(_ context: CommandContext) async throws {
    let operands = context.arguments.operands
    let name = try context.topicName()
    let who = operands.dropFirst().first
    let word = operands.dropFirst(2).first
    guard operands.count <= 3 else { throw CommandError.usage("too many operands") }
    let level = try word.map { word throws(CommandError) in
      guard let level = TopicLevel(rawValue: word) else {
        throw CommandError.usage("LEVEL is none of deny, read, write and read-write")
      }
      return level
    }
    let user: UserName?
    if let who, who != "everyone" {
      do throws(FieldError) { user = try UserName(who, in: .user) } catch {
        throw CommandError.usage("WHO \(error.message)")
      }
    } else {
      user = nil
    }
    let permissions: TopicPermissions
    do {
      permissions = try await context.topicStore().allow(user, level, on: name, by: nil)
    } catch TopicRefusal.forbidden {
      throw CommandError.refused("there is no such topic or account")
    }
    if context.arguments.has("json") { return try context.print(json: permissions) }
    context.print("owner \(permissions.Owner?.printable ?? "-")")
    context.print("everyone \(permissions.Everyone.rawValue)")
    for (user, level) in permissions.Users.sorted(by: { $0.key < $1.key })
    where who == nil || who == user {
      context.print("\(user.printable) \(level.rawValue)")
    }
  }
}

/// `awd topic remove`.
struct TopicRemoveCommand: Command {
  static let name = "topic remove"
  static let summary = "Remove a topic with all that is in it"
  static let parameters = [
    CommandParameter.configuration, .json, .operand("TOPIC", "the topic"),
  ]

  static func run(_ context: CommandContext) async throws {
    let name = try context.topicName()
    let store = try await context.topicStore()
    let topic = try await store.listing().first { $0.topic == name.text }
    do { try await store.remove(name, by: nil) } catch TopicRefusal.forbidden {
      throw CommandError.refused("there is no such topic")
    }
    try context.print(json: topic) {}
  }
}

extension CommandContext {
  fileprivate func topicName() throws(CommandError) -> TopicName {
    guard let name = TopicName(arguments.operands.first ?? "") else {
      throw CommandError.usage("TOPIC is no name of a topic, or a reserved one")
    }
    return name
  }

  /// Opens the topics that the configuration names, beside a running server or without one.
  fileprivate func topicStore() async throws -> TopicStore {
    let context = try await serviceContext(for: MsgrService.self)
    let configuration = try configuration(for: MsgrService.self)
    return TopicStore(
      msgr: MsgrStore(context, configuration), limits: TopicLimits(configuration.topics),
      files: TopicFileLimits(configuration.topics))
  }
}
