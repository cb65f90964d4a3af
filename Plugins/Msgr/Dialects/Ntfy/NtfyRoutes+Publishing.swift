internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Routing

// Publishing, and what clears or deletes a message.
extension NtfyRoutes {
  func publish(
    _ request: Request, _ body: RequestBody, _ parameters: RouteParameters
  ) async throws -> Response {
    let first = parameters.text("topic") ?? ""
    // Who publishes at a name that is ntfy's own can mean nothing but a topic.
    if parameters["sequence"].isEmpty, ReservedTopics.ntfy.contains(first) {
      throw NtfyError.reservedTopic
    }
    let name = try NtfyReadRequest.topic(ofPath: first)
    let requester = try await publisher(request)
    try topics.chargePublishing(requester)
    let longest = topics.service.publishing.messageBytes
    var slot: TopicSlot?
    defer { slot?.leave() }
    let (start, isWhole) = try await Self.beginning(of: body, atLeast: longest + 1) {
      if slot == nil { slot = try topics.uploadSlot(for: requester) }
    }
    var publication = NtfyPublishRequest(
      request.head, body: start, isWhole: isWhole, upTo: longest)
    if let sequence = parameters.text("sequence"), !sequence.isEmpty {
      publication.fields.sequence = sequence
    }
    if publication.body == .unifiedPush {
      guard isWhole else { throw NtfyError.tooLarge }
      return try await publishUnifiedPush(start, to: name, by: requester)
    }
    let length: Int? = if case .length(let length) = request.head.framing { length } else { nil }
    let published = try await topics.publish(
      publication.fields, file: publication.fileName, beginning: start, body, length: length,
      to: name, by: requester, base: topics.baseURL(of: request), hasText: publication.hasText)
    return Self.line(NtfyMessage.json(of: published.entry, notes: published.notes))
  }

  /// The bytes of a body that is held without a place for uploads: those of most messages.
  private static let freeBytes = 16 << 10

  /// Reads the beginning of a body.
  ///
  /// - Parameter takePlace: called when more than a little is held.
  /// - Returns: so many bytes at least, or the whole body, and whether it is that.
  private static func beginning(
    of body: RequestBody, atLeast count: Int, _ takePlace: () throws -> Void
  ) async throws -> (bytes: [UInt8], isWhole: Bool) {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let piece = try await body.next() else { return (bytes, true) }
      bytes += piece
      if bytes.count > freeBytes { try takePlace() }
    }
    return (bytes, false)
  }

  func publishJSON(_ request: Request) async throws -> Response {
    guard let json = PublicationReader.json(of: request)?.foldingNames, json.members != nil else {
      throw NtfyError.badJSON
    }
    let name = try NtfyReadRequest.topic(json["topic"]?.string ?? "")
    let requester = try await publisher(request)
    try topics.chargePublishing(requester)
    let publication = NtfyPublishRequest(json, request.head)
    let published = try await topics.publish(
      publication.fields, file: nil, beginning: [], RequestBody(whole: []), length: nil, to: name,
      by: requester, base: topics.baseURL(of: request), hasText: true)
    return Self.line(NtfyMessage.json(of: published.entry, notes: published.notes))
  }

  private func publishUnifiedPush(
    _ body: [UInt8], to name: TopicName, by requester: TopicRequester
  ) async throws -> Response {
    guard body.count <= NtfyPublishRequest.longestUnifiedPush else { throw NtfyError.tooLarge }
    let entry = try await topics.publish(unifiedPush: body, to: name, by: requester)
    return Self.line(NtfyMessage.json(of: entry))
  }

  private static func line(_ json: String) -> Response { Self.json(Array("\(json)\n".utf8)) }

  func close(
    _ request: Request, _ parameters: RouteParameters, as event: TopicEvent
  ) async throws -> Response {
    let name = try NtfyReadRequest.topic(ofPath: parameters)
    let sequence = parameters.text("sequence") ?? ""
    guard PublicationFields.isSequence(sequence) else { throw NtfyError.badRequest }
    let requester = try await publisher(request)
    try topics.chargePublishing(requester)
    let entry = try await topics.close(sequence, of: name, as: event, by: requester)
    return Self.line(NtfyMessage.json(of: entry))
  }
}

extension NtfyPublishRequest {
  /// The name of the file that the body is; nil if it is none.
  var fileName: String? {
    if case .file(let name) = body { name } else { nil }
  }
}
