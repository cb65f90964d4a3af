internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Platform

/// Reads the requests to `/publish`, whose files go into the store while they come.
struct InboxUpload: Sendable {
  /// A publication with the file that came with it.
  struct Reading: Sendable {
    var publication: PublicationReader.Reading
    /// The file and its name as the program gave it; nil without one.
    var file: (name: String, outcome: ReceivedFile)?
  }

  /// The longest body that is held in memory whatever it is, in bytes: one with a file that is longer comes in parts.
  private static let longestWhole = 64 << 10
  /// The bytes of a long body, or of a file, that show what it is.
  private static let shownBytes = 16 << 10

  let topics: TopicService
  /// The longest text, object, or form without its files, in bytes.
  let longestText: Int

  /// The longest body, in bytes.
  var longest: Int { max(topics.longestUpload, longestText) }

  /// Returns whether a body comes in parts: if it is long, and has a file or is too long for anything else.
  func comesInParts(_ head: RequestHead) -> Bool {
    let length = Self.length(of: head)
    if let length {
      guard length > min(longestText, Self.longestWhole) else { return false }
      if length > longestText { return true }
    } else if head.framing == .none {
      return false
    }
    return PublicationReader.mediaType(of: head) == PublicationReader.multipart
      || Self.fileName(PublishingParameters(head)) != nil
  }

  private static func length(of head: RequestHead) -> Int? {
    if case .length(let length) = head.framing { length } else { nil }
  }

  /// Returns the name of the file that a body is. Beside the address of a file elsewhere, a name is that file's.
  private static func fileName(_ parameters: PublishingParameters) -> String? {
    parameters[.attach] == nil ? parameters[.fileName] : nil
  }

  /// Reads a request and receives its file. What was kept is discarded if the rest fails.
  func read(
    _ request: Request, _ body: RequestBody, by requester: TopicRequester
  ) async throws -> Reading {
    let slot = comesInParts(request.head) ? try topics.uploadSlot(for: requester) : nil
    defer { slot?.leave() }
    if PublicationReader.mediaType(of: request.head) == PublicationReader.multipart {
      return try await read(form: body, request.head, by: requester)
    }
    let head = request.head
    let parameters = PublishingParameters(head)
    let length = Self.length(of: head)
    let isTooLong = length.map { $0 > longestText } ?? false
    let named = Self.fileName(parameters)
    let isLong = isTooLong || named != nil
    let start = try await Self.beginning(of: body, atLeast: isLong ? Self.shownBytes : .max)
    if !start.isEmpty, let name = named ?? nameless(head, start, isTooLong: isTooLong) {
      var publication = PublicationReader.beginning(of: head)
      publication.fields.complete(with: parameters)
      let outcome = try await topics.receive(
        name, beginning: start, body, length: length, by: requester)
      return Reading(publication: publication, file: (name, outcome))
    }
    guard !isTooLong else {
      _ = try await topics.discard(start.count, body)
      throw textTooLong
    }
    var whole = request
    whole.body = start
    var publication = try PublicationReader.read(whole)
    publication.fields.complete(with: parameters)
    return Reading(publication: publication)
  }

  /// Returns a name for a body without one that is a file, as it is no text; nil for others.
  private func nameless(_ head: RequestHead, _ start: [UInt8], isTooLong: Bool) -> String? {
    guard PublicationReader.charset(of: head) == nil,
      PublicationReader.mediaType(of: head) != "application/json"
    else { return nil }
    // A short one that isn't UTF-8 may be a text in an older charset. No such text has a NUL.
    let isFile = isTooLong ? !PublicationReader.isText(start) : start.contains(0)
    return isFile ? "attachment.bin" : nil
  }

  private var textTooLong: HTTPError {
    HTTPError(
      .contentTooLarge,
      "a text is at most \(longestText) bytes here: to send it as a file, name it by Filename")
  }

  /// Reads the beginning of a body or of a form's file: so many bytes at least, or all of it.
  private static func beginning(
    of source: any FileSource, atLeast count: Int
  ) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count, let piece = try await source.next() {
      if bytes.isEmpty { bytes = piece } else { bytes += piece }
    }
    return bytes
  }

  /// Reads a multipart form. Its first file is received while it comes, and others are skipped.
  private func read(
    form body: RequestBody, _ head: RequestHead, by requester: TopicRequester
  ) async throws -> Reading {
    var reading = Reading(publication: PublicationReader.beginning(of: head))
    var texts: [(name: String, content: ArraySlice<UInt8>)] = []
    var room = longestText
    let form = try UploadedForm(head, body)
    do {
      while let part = try await form.nextPart() {
        if !PublicationReader.isFile(part.name, part.fileName) {
          var content: [UInt8] = []
          while let piece = try await form.next() {
            room -= piece.count
            guard room >= 0 else {
              _ = try await topics.discard(longestText - room, body)
              throw textTooLong
            }
            content += piece
          }
          texts.append((part.name, content[...]))
        } else if reading.file == nil, let written = part.fileName {
          let name = HeaderText.decodingWords(of: written)
          let start = try await Self.beginning(of: form, atLeast: Self.shownBytes)
          // A page's field for a file in which none was chosen.
          if name.isEmpty, start.isEmpty { continue }
          let outcome = try await topics.receive(
            name, beginning: start, form, length: nil, by: requester)
          reading.file = (name, outcome)
        }
      }
    } catch {
      await discard(reading.file?.outcome)
      throw error
    }
    PublicationReader.read(texts: texts, into: &reading.publication)
    reading.publication.fields.complete(with: PublishingParameters(head))
    return reading
  }

  /// Removes a file whose message isn't published after all.
  func discard(_ file: ReceivedFile?) async {
    if case .kept(let file) = file { try? await topics.store.discard(file.name) }
  }
}

/// A multipart form that is read while it comes; its pieces are those of the part that was reached.
private final class UploadedForm: FileSource {
  private let body: RequestBody
  private var reader: MultipartReader
  private var isInPart = false

  init(_ head: RequestHead, _ body: RequestBody) throws(FieldError) {
    self.body = body
    do throws(MultipartError) {
      reader = try MultipartReader(contentType: head.value(.contentType) ?? "")
    } catch { throw FieldError(of: error) }
  }

  /// Goes on to the next part, behind what is left of the one that was reached; nil behind the last one.
  func nextPart() async throws -> (name: String, fileName: String?)? {
    while try await next() != nil {}
    guard case .part(let name, let fileName) = try await nextEvent() else { return nil }
    isInPart = true
    return (name, fileName)
  }

  func next() async throws -> [UInt8]? {
    guard isInPart else { return nil }
    guard case .content(let bytes) = try await nextEvent() else {
      isInPart = false
      return nil
    }
    return Array(bytes)
  }

  private func nextEvent() async throws -> MultipartReader.Event? {
    while true {
      do throws(MultipartError) {
        if let event = try reader.next() { return event }
      } catch { throw FieldError(of: error) }
      guard let bytes = try await body.next() else {
        guard !reader.hasAll else { return nil }
        reader.finish()
        continue
      }
      reader.append(bytes)
    }
  }
}

extension FieldError {
  /// A form that is none.
  init(of error: MultipartError) { self.init(nil, "the form is malformed: \(error)") }
}
