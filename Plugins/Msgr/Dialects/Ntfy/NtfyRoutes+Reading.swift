internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import Routing

// Reading: polls and streams.
extension NtfyRoutes {
  private static let userAgent = FieldName("User-Agent")

  func auth(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    let names = try NtfyReadRequest.topics(parameters.text("topics") ?? "")
    try await topics.mayRead(names, by: try await requester(request))
    return Self.json(.object(["success": .truth(true)]))
  }

  func read(
    _ request: Request, _ parameters: RouteParameters, _ form: NtfyStreamForm
  ) async throws -> StreamDecision {
    do {
      let owner = WorkOwner(client: request.origin.client)
      return try await WorkOwner.$current.withValue(owner) {
        try await decision(request, parameters, form)
      }
    } catch { return .respond(try refusal(of: request, error)) }
  }

  private func decision(
    _ request: Request, _ parameters: RouteParameters, _ form: NtfyStreamForm
  ) async throws -> StreamDecision {
    let reading = try NtfyReadRequest(
      parameters.text("topics") ?? "", request.head, now: topics.now)
    let requester = try await requester(request)
    let encoder = NtfyStreamEncoder(reading, form: form, agent: request.head.value(Self.userAgent))
    if reading.isPoll || reading.filter.id != nil {
      let poll = try await topics.poll(
        reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
        by: requester)
      return .respond(
        readResponse(in: form, body: try await Self.body(of: poll, encoder)))
    }
    let start = try await topics.open(
      reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
      by: requester)
    var head = readResponse(in: form, body: .none)
    head.fields.append(FieldName("X-Accel-Buffering"), "no")
    return .open(
      ResponseStreamOpening(head) { [topics] output in
        NtfyBody(output, start, encoder, topics)
      })
  }

  private func readResponse(in form: NtfyStreamForm, body: Response.Body) -> Response {
    var response = Response(.ok, body: body)
    if let type = form.contentType { response.fields.append(.contentType, type) }
    response.fields.append(.cacheControl, "no-store")
    return shared(response)
  }

  /// Returns a poll's entries, made as the client takes them if they are many.
  private static func body(
    of poll: TopicPoll, _ encoder: NtfyStreamEncoder
  ) async throws -> Response.Body {
    try await .reading {
      while true {
        let page = try await poll.next()
        let bytes = page.entries.flatMap(encoder.bytes)
        // A filter may leave nothing of a page.
        guard page.ends != nil || !bytes.isEmpty else { continue }
        return BodyPiece(bytes: bytes, isLast: page.ends != nil)
      }
    }
  }

  func acceptStream(
    _ request: Request, _ parameters: RouteParameters
  ) async throws -> WebSocketAcceptance {
    do {
      let reading = try NtfyReadRequest(
        parameters.text("topics") ?? "", request.head, now: topics.now)
      let requester = try await requester(request)
      let encoder = NtfyStreamEncoder(
        reading, form: .webSocket, agent: request.head.value(Self.userAgent))
      var acceptance = try await acceptance(of: reading, by: requester, encoder)
      acceptance.limits.pingInterval = topics.configuration.keepalive
      acceptance.limits.maximumMessage = 4096
      return acceptance
    } catch {
      guard let failure = NtfyError(refusing: error) else { throw error }
      throw HTTPError(beforeStream: failure)
    }
  }

  private func acceptance(
    of reading: NtfyReadRequest, by requester: TopicRequester, _ encoder: NtfyStreamEncoder
  ) async throws -> WebSocketAcceptance {
    if reading.isPoll || reading.filter.id != nil {
      let slot = try topics.streamSlot(for: requester)
      let poll = try await topics.poll(
        reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
        by: requester)
      return WebSocketAcceptance { [topics] session in
        NtfyPollSocket(session, poll, encoder, topics, slot)
      }
    }
    let start = try await topics.open(
      reading.topics, since: reading.since, reading.filter, withWaiting: reading.withWaiting,
      by: requester)
    return WebSocketAcceptance { [topics] session in
      NtfySocket(session, start, encoder, topics)
    }
  }
}

extension HTTPError {
  /// The refusal of a stream before it has begun.
  fileprivate init(beforeStream failure: NtfyError) {
    self.init(failure.status, failure.text)
    members["code"] = "\(failure.code)"
    if let seconds = failure.retryAfter { fields.append(.retryAfter, "\(seconds)") }
  }
}
