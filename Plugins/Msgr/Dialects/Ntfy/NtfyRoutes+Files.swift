internal import Formats
internal import HTTPProtocol
internal import Routing
internal import Platform

// Files beside messages: whoever has the address may fetch them.
extension NtfyRoutes {
  private static let contentDisposition = FieldName("Content-Disposition")
  private static let acceptRanges = FieldName("Accept-Ranges")
  private static let contentRange = FieldName("Content-Range")
  private static let range = FieldName("Range")
  private static let ifRange = FieldName("If-Range")

  func registerFiles(on router: inout Router) {
    router.get("/file/{name}") { request, parameters in
      var response: Response
      do { response = try await file(request, parameters) } catch {
        guard let failure = NtfyError(refusing: error) else { throw error }
        response = failure.response
      }
      if topics.configuration.hasCORS { response.fields.append(Self.allowOrigin, "*") }
      return response
    }
  }

  private func file(_ request: Request, _ parameters: RouteParameters) async throws -> Response {
    // Credentials that come along are ignored, as apps send them to any address.
    let reader = TopicRequester(
      caller: .nobody, credential: .nothing, site: request.origin.client.map { "\($0)" })
    try topics.chargeReading(reader)
    guard let name = parameters.text("name"), let file = try await topics.store.file(name) else {
      throw NtfyError.notFound
    }
    var response = Response(.ok)
    let tag = "\"\(file.name.prefix(TopicFile.nameLength))\""
    response.fields.append(.entityTag, tag)
    response.fields.append(Self.acceptRanges, "bytes")
    response.fields.append(.cacheControl, "private")
    response.fields.append(.contentTypeOptions, "nosniff")
    response.fields.append(.contentSecurityPolicy, "sandbox; default-src 'none'")
    response.fields.append(Self.contentDisposition, Self.disposition(file.fileName))
    if request.head.value(.ifNoneMatch)?.contains(tag) == true {
      response.status = .notModified
      return response
    }
    response.fields.append(.contentType, file.type)
    var range = 0..<file.size
    let isSame = request.head.value(Self.ifRange).map { $0 == tag } ?? true
    if isSame, let text = request.head.value(Self.range), text.hasPrefix("bytes=") {
      switch ByteRange(text, of: file.size) {
      case .whole: break
      case .part(let part):
        range = part
        response.status = Status(206)
        response.fields.append(
          Self.contentRange, "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)")
      case .unsatisfiable:
        var refusal = Response(Status(416))
        refusal.fields.append(Self.contentRange, "bytes */\(file.size)")
        return refusal
      }
    }
    response.length = range.count
    guard request.head.method != .head else {
      response.body = .pieces(AsyncThrowingStream { nil })
      return response
    }
    if let wait = topics.chargeBandwidth(range.count, for: file.limitKey) {
      throw TopicRefusal.bandwidth(retryAfter: wait)
    }
    response.body = .pieces(pieces(of: file, in: range))
    return response
  }

  /// Returns a part of a file, piece by piece.
  private func pieces(
    of file: TopicFile, in range: Range<Int>
  ) -> AsyncThrowingStream<[UInt8], any Error> {
    let size = TopicFile.pieceSize
    let position = Lock(range.lowerBound)
    let owner = WorkOwner.current
    return AsyncThrowingStream { [store = topics.store] in
      let start = position.withLock { $0 }
      guard start < range.upperBound else { return nil }
      let number = start / size
      let found = try await WorkOwner.$current.withValue(owner) {
        try await store.piece(number, of: file.name)
      }
      guard let piece = found else {
        throw NtfyError.notFound
      }
      let from = start - number * size
      let to = min(piece.count, range.upperBound - number * size)
      guard from < to else { throw NtfyError.notFound }
      position.withLock { $0 = number * size + to }
      return from == 0 && to == piece.count ? piece : Array(piece[from..<to])
    }
  }

  /// Returns the field that has a file saved under its name (RFC 6266).
  private static func disposition(_ name: String) -> String {
    let plain = String(
      name.unicodeScalars.map { scalar -> Character in
        let isPlain = scalar.isASCII && !"\"\\%".unicodeScalars.contains(scalar)
        return isPlain ? Character(scalar) : "_"
      })
    let encoded = name.utf8.map { byte in
      if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
        return String(UnicodeScalar(byte))
      }
      let digits = String(byte, radix: 16, uppercase: true)
      return "%" + (digits.utf8.count == 1 ? "0" : "") + digits
    }.joined()
    return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(encoded)"
  }
}

/// The part of a file that a request asks for (RFC 9110 section 14).
enum ByteRange: Hashable, Sendable {
  case whole
  case part(Range<Int>)
  case unsatisfiable

  /// Reads the value of `Range`. Several ranges, and what is malformed, are the whole.
  init(_ text: String, of size: Int) {
    self = .whole
    let spec = text.dropFirst("bytes=".count)
    guard text.hasPrefix("bytes="), !spec.contains(",") else { return }
    let parts = spec.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
      .map { $0.trimmingBlanks }
    guard parts.count == 2 else { return }
    if parts[0].isEmpty {
      guard let count = Int(parts[1]), count >= 0 else { return }
      self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
      return
    }
    guard let start = Int(parts[0]), start >= 0 else { return }
    guard start < size else {
      self = .unsatisfiable
      return
    }
    guard !parts[1].isEmpty else {
      self = .part(start..<size)
      return
    }
    guard let last = Int(parts[1]), last >= start else { return }
    self = .part(start..<(min(last, size - 1) + 1))
  }
}
