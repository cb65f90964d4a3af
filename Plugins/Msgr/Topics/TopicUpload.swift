internal import Formats
internal import HTTPServer
internal import Platform
internal import ServiceKit
internal import Storage

/// A source of a file's bytes, which come piece by piece.
protocol FileSource {
  /// Returns the next piece, which it waits for; nil at the end.
  func next() async throws -> [UInt8]?
}

extension RequestBody: FileSource {}

/// A file that was received, or the reason why it wasn't kept.
enum ReceivedFile: Sendable {
  case kept(TopicFile)
  case refused(UploadRefusal)
}

/// The reason why a file isn't kept.
enum UploadRefusal: Sendable, Hashable {
  /// No files are kept here.
  case off
  case tooLarge(bytes: Int, limit: Int)
  /// The uploader's quota, or that of all together, is used up.
  case noRoom
  /// The uploader's bytes of the day are used up.
  case noBandwidth(retryAfter: Int)

  /// The refusal of a request that has nothing but the file.
  var ofRequest: TopicRefusal {
    switch self {
    case .off: .noFiles
    case .tooLarge, .noRoom: .tooLarge
    case .noBandwidth(let seconds): .bandwidth(retryAfter: seconds)
    }
  }

  /// The reason in words for people, in the message's last line and in a note.
  func sentence(about name: String) -> String {
    switch self {
    case .off: "\(name) was not kept: this server keeps no files"
    case .tooLarge(let bytes, let limit) where Self.size(bytes) == Self.size(limit):
      "\(name) was not kept: \(bytes) bytes are more than \(limit)"
    case .tooLarge(let bytes, let limit):
      "\(name) was not kept: \(Self.size(bytes)) is more than \(Self.size(limit))"
    case .noRoom: "\(name) was not kept: there is no room for it"
    case .noBandwidth: "\(name) was not kept: the day's bytes of files are used up"
    }
  }

  private static func size(_ bytes: Int) -> String {
    for (unit, words) in [(1 << 20, "MB"), (1 << 10, "KB")] where bytes >= unit {
      let tenths = (bytes * 10 + unit / 2) / unit
      let fraction = tenths.isMultiple(of: 10) ? "" : ".\(tenths % 10)"
      return "\(tenths / 10)\(fraction) \(words)"
    }
    return quantity(bytes, "byte")
  }
}

extension TopicService {
  /// How many times the largest file is read and thrown away, so that the client gets its answer.
  private static let excessFactor = 4

  /// The most bytes of a body of which all is read, be it kept or thrown away.
  var longestUpload: Int {
    Self.excessFactor * max(configuration.attachmentBytes, service.publishing.messageBytes)
  }

  /// Receives a file into the store, piece by piece.
  ///
  /// - Parameters:
  ///   - given: its name as the client gave it.
  ///   - start: its beginning, which was read already.
  ///   - source: the rest.
  ///   - length: the length of the whole, if the client has stated it.
  /// - Throws: ``TopicRefusal`` `.tooLarge` if there is more than is read and thrown away.
  func receive(
    _ given: String, beginning start: [UInt8], _ source: any FileSource, length: Int?,
    by requester: TopicRequester
  ) async throws -> ReceivedFile {
    guard isOn else {
      _ = try await discard(start.count, source)
      return .refused(.off)
    }
    let limit = configuration.attachmentBytes
    let name = PublicationFields.fileName(given) ?? "attachment"
    if let length, length > limit || limit == 0 {
      let bytes = try await discard(start.count, source)
      return .refused(limit == 0 ? .off : .tooLarge(bytes: max(bytes, length), limit: limit))
    }
    guard limit > 0 else {
      _ = try await discard(start.count, source)
      return .refused(.off)
    }
    guard !disk.refusesStrangers else {
      _ = try await discard(start.count, source)
      return .refused(.noRoom)
    }
    let type = TopicFileTypes.type(of: start, named: name)
    let ending = TopicFileTypes.pathExtension(of: name, type: type)
    let path =
      RandomText.make(TopicFile.nameLength, randomBytes: service.randomBytes) + "." + ending
    let file = TopicFile(
      name: path, fileName: name, type: type, size: length ?? 0, expires: now,
      limitKey: requester.limitKey)
    guard try await store.begin(file, by: requester) else {
      _ = try await discard(start.count, source)
      return .refused(.noRoom)
    }
    do {
      let size = try await receivePieces(of: path, start, source, upTo: limit)
      guard size <= limit else {
        try await store.discard(path)
        return .refused(.tooLarge(bytes: try await discard(size, source), limit: limit))
      }
      let mayStore = try await mayStore(size, for: requester)
      let hasRoom = try await store.resize(path, to: size, by: requester)
      guard mayStore, hasRoom else {
        try await store.discard(path)
        return .refused(.noRoom)
      }
      if let wait = chargeBandwidth(size, for: requester.limitKey) {
        try await store.discard(path)
        return .refused(.noBandwidth(retryAfter: wait))
      }
      return .kept(
        TopicFile(
          name: path, fileName: name, type: type, size: size, expires: now,
          limitKey: requester.limitKey))
    } catch {
      try? await store.discard(path)
      throw error
    }
  }

  /// Stores a file's pieces.
  ///
  /// - Returns: the length of the file, or of what was read of one that is longer than the limit.
  private func receivePieces(
    of path: String, _ start: [UInt8], _ source: any FileSource, upTo limit: Int
  ) async throws -> Int {
    var waiting = start
    var size = start.count
    var number = 0
    var isOver = false
    while !isOver || !waiting.isEmpty {
      while !isOver, waiting.count < TopicFile.pieceSize {
        if let piece = try await source.next() {
          waiting += piece
          size += piece.count
        } else {
          isOver = true
        }
      }
      guard size <= limit else { return size }
      guard !waiting.isEmpty else { break }
      try await store.append(Array(waiting.prefix(TopicFile.pieceSize)), number, to: path)
      waiting.removeFirst(min(waiting.count, TopicFile.pieceSize))
      number += 1
    }
    return size
  }

  /// Reads the rest of a body and throws it away.
  ///
  /// - Returns: the length of the whole.
  func discard(_ read: Int, _ source: any FileSource) async throws -> Int {
    var total = read
    while let piece = try await source.next() {
      total += piece.count
      guard total <= longestUpload else { throw TopicRefusal.tooLarge }
    }
    return total
  }

  /// Returns what a message shows of a file that was kept.
  func attachment(
    _ file: TopicFile, isOpen: Bool, from moment: Timestamp, base: String
  ) -> MessageAttachment {
    let expires = moment + store.fileAge(isOpen: isOpen)
    return MessageAttachment(
      name: file.fileName, type: file.type, size: file.size, expires: expires.seconds,
      url: "\(base)/file/\(file.name)")
  }
}
