/// Why something is not served.
struct Refusal: Error, Equatable, Sendable {
  /// The reason without anything of the file's content: for everybody.
  let reason: String
  /// What exactly is wrong and where: for the operator; may be empty.
  let detail: String
  /// Whether the bytes are no well-formed XML, as those of a half-written file are.
  var isMalformed = false
  /// Whether the fault may be the machine's, so that it says nothing of the bytes.
  var isTransient = false

  /// The reason with its detail.
  var words: String { detail.isEmpty ? reason : "\(reason): \(detail)" }
}
