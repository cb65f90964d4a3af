/// The reason why a file is not served.
struct FileRefusal: Error, Equatable, Sendable {
  /// The reason in words that anybody may see: nothing of the file's content is in it.
  let reason: String
  /// The exact fault and its place, for the operator; may be empty.
  let detail: String
  /// True if the bytes are not well-formed XML, as in a half-written file.
  let isMalformed: Bool
  /// True if the machine may be at fault, so that the refusal says nothing about the bytes.
  let isTransient: Bool

  /// Makes a refusal. The first 1,000 bytes of its detail are kept, as it may quote the file.
  init(reason: String, detail: String = "", isMalformed: Bool = false, isTransient: Bool = false) {
    self.reason = reason
    self.detail = detail.bounded(to: 1000)
    (self.isMalformed, self.isTransient) = (isMalformed, isTransient)
  }

  /// The reason with its detail.
  var words: String { detail.isEmpty ? reason : "\(reason): \(detail)" }
}
