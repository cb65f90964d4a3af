internal import Formats
internal import FoundationEssentials
internal import HTTPServer
internal import Platform
internal import Storage

/// A message that was published to a topic, with notes of what was cut or dropped.
struct TopicPublication: Sendable {
  let entry: TopicEntry
  let notes: [String]
}

extension TopicService {
  /// Publishes what a program gave.
  ///
  /// - Parameters:
  ///   - fields: what it gave, with a text.
  ///   - fileName: the name of the file that the body is; nil if it is none.
  ///   - start: the beginning of the body, which was read already.
  ///   - source: the rest.
  ///   - base: the server's address, for the file's.
  ///   - hasText: whether the text or the title is the program's own, so that it is worth something without the file.
  func publish(
    _ fields: PublicationFields, file fileName: String?, beginning start: [UInt8],
    _ source: RequestBody, length: Int?,
    to name: TopicName, by requester: TopicRequester, base: String, hasText: Bool
  ) async throws -> TopicPublication {
    var fields = fields
    var post = TopicPost(topic: name, id: makeID())
    post.due = due(&fields)
    post.isTransient = fields.isUncached
    var attachment: MessageAttachment?
    if let fileName {
      try await requireWriting(name, by: requester)
      switch try await receive(
        fileName, beginning: start, source, length: length, by: requester)
      {
      case .kept(let file):
        post.file = file.name
        attachment = self.attachment(
          file, isOpen: try await isOpen(name, by: requester), from: post.due ?? now, base: base)
      case .refused(let refusal):
        guard hasText else { throw refusal.ofRequest }
        fields.record(refusal, of: fileName)
      }
    }
    let publication = try service.validated(fields)
    post.text = publication.text.text
    post.parts = publication.parts
    post.sequence = publication.parts.sequence
    post.parts.sequence = nil
    if let attachment { post.parts.attachment = attachment }
    do {
      return TopicPublication(
        entry: try await publish(post, by: requester), notes: publication.notes)
    } catch {
      if let file = post.file { try? await store.discard(file) }
      throw error
    }
  }

  /// Publishes a message of UnifiedPush's: bytes as they are.
  func publish(
    unifiedPush body: [UInt8], to name: TopicName, by requester: TopicRequester
  ) async throws -> TopicEntry {
    var post = TopicPost(topic: name, id: makeID())
    post.isUnifiedPush = true
    if let text = String(validating: body, as: UTF8.self), !text.unicodeScalars.contains("\0") {
      post.text = text
    } else {
      post.text = Data(body).base64EncodedString()
      post.isBase64 = true
    }
    do { return try await publish(post, by: requester) } catch TopicRefusal.forbidden
      where name.isUnifiedPush && requester.caller == .nobody
    {
      // The program may push before the phone has connected; after another answer it would forget the phone.
      throw TopicRefusal.noSubscriber
    }
  }

  /// Finds out when a message is to come; a time that isn't understood, or is over, is now.
  private func due(_ fields: inout PublicationFields) -> Timestamp? {
    guard let words = fields.delay?.trimmingBlanks, !words.isEmpty else { return nil }
    guard let moment = DelayWords.moment(words, from: now) else {
      fields.notes.append("Delay was not understood: the message came at once")
      return nil
    }
    guard moment > now else {
      fields.notes.append("Delay is over: the message came at once")
      return nil
    }
    let last = now + configuration.longestDelay
    guard moment <= last else {
      fields.notes.append("Delay was too long: the message comes as late as is allowed")
      return last
    }
    return moment
  }

  /// Refuses a file before it is received if nothing may be published.
  private func requireWriting(_ name: TopicName, by requester: TopicRequester) async throws {
    let decisions = try await store.decisions(.write, [name], by: requester.caller)
    guard !decisions.contains(.forbidden) else { throw TopicRefusal.forbidden }
  }

  private func isOpen(_ name: TopicName, by requester: TopicRequester) async throws -> Bool {
    try await store.isOpen(name) ?? (requester.caller.account == nil)
  }
}

extension TopicStore {
  /// Returns whether a topic is nobody's; nil if there is none.
  func isOpen(_ name: TopicName) async throws -> Bool? {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.one("SELECT owner FROM msgr_topics WHERE topic = ?", name) { row in
        let owner: UserName? = try row[0]
        return owner == nil
      }
    }
  }
}
