internal import ApptimistProtocol
internal import Cryptography

/// Something asked of the service: what is sent, and the answers that end it.
///
/// Much of the protocol has no answer. Since everything is done in order, a search sent behind it has: its
/// answer says that what came before it was done, on disk.
struct DeviceRequest {
  /// A PDU and its boxed data.
  struct Part: Equatable {
    let pdu: PDU
    var data: [UInt8] = []
  }

  /// What ends a request.
  enum Expectation {
    /// One `user`: this one, or nobody.
    case user(EncryptionPublicKey)
    /// `user`s, the last of which says that none follows.
    case users
    /// `vouchers` for this subject.
    case vouchers(EncryptionPublicKey)
    /// The answer of the same type for the same file.
    case file(PDU)
    /// Perhaps the echo of a truncation, then this `user`.
    case truncation(MessageID, EncryptionPublicKey)
  }

  /// What the service answered.
  enum Answer: Equatable {
    case users([PDU.User])
    case vouchers([EncryptionPublicKey])
    case file(ErrorCode, box: [UInt8])
    case truncated(Bool)
  }

  /// What an answer's PDU is to a request.
  enum Progress: Equatable {
    case incomplete
    case complete(Answer)
    /// It isn't the answer to this.
    case mismatch
  }

  let parts: [Part]
  private let expectation: Expectation
  /// Whether it may be sent again when it isn't known whether it was done.
  let isRepeatable: Bool
  private var users: [PDU.User] = []
  private var isEchoed = false

  init(_ parts: [Part], expecting expectation: Expectation, isRepeatable: Bool = true) {
    self.parts = parts
    self.expectation = expectation
    self.isRepeatable = isRepeatable
  }

  /// A request about a file.
  init(file pdu: PDU, data: [UInt8] = [], isRepeatable: Bool) {
    self.init([Part(pdu: pdu, data: data)], expecting: .file(pdu), isRepeatable: isRepeatable)
  }

  /// Something without an answer, and a search for a user behind it.
  init(_ pdu: PDU, data: [UInt8] = [], then key: EncryptionPublicKey) {
    self.init(
      [Part(pdu: pdu, data: data), Part(pdu: .searchByKey(PDU.SearchByKey(key: key)))],
      expecting: .user(key))
  }

  /// About how many bytes it takes on the wire.
  var cost: Int { parts.reduce(0) { $0 + $1.data.count + 128 } }

  /// The same request with no answer yet.
  var renewed: DeviceRequest {
    DeviceRequest(parts, expecting: expectation, isRepeatable: isRepeatable)
  }

  /// Takes the echo of a truncation.
  ///
  /// - Returns: whether it is this request's.
  mutating func takeEcho(_ message: MessageID) -> Bool {
    guard case .truncation(message, _) = expectation else { return false }
    isEchoed = true
    return true
  }

  /// Takes a PDU that answers.
  mutating func take(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> Progress {
    switch (expectation, pdu) {
    case (.user(let key), .user(let user)):
      return isAnswer(user, key) ? .complete(.users(user.key.isZero ? [] : [user])) : .mismatch
    case (.truncation(_, let key), .user(let user)):
      return isAnswer(user, key) ? .complete(.truncated(isEchoed)) : .mismatch
    case (.users, .user(let user)): return take(user)
    case (.vouchers(let subject), .vouchers(let answer)) where answer.subject == subject:
      return .complete(.vouchers(answer.vouchers))
    case (.file(let question), let answer): return Self.file(question, answer, data)
    default: return .mismatch
    }
  }

  private func isAnswer(_ user: PDU.User, _ key: EncryptionPublicKey) -> Bool {
    user.count == 0 && (user.key == key || user.key.isZero)
  }

  private mutating func take(_ user: PDU.User) -> Progress {
    if let last = users.last, user.count != last.count - 1 { return .mismatch }
    users.append(user)
    guard user.count == 0 else { return .incomplete }
    return .complete(.users(users.filter { !$0.key.isZero }))
  }

  private static func file(_ question: PDU, _ answer: PDU, _ data: ArraySlice<UInt8>) -> Progress {
    switch (question, answer) {
    case (.read(let asked), .read(let done)): check(asked, done, data)
    case (.lock(let asked), .lock(let done)): check(asked, done, data)
    case (.write(let asked), .write(let done)): check(asked, done, data)
    case (.remove(let asked), .remove(let done)): check(asked, done, data)
    default: .mismatch
    }
  }

  private static func check<let type: Int>(
    _ asked: PDU.FileRequest<type>, _ done: PDU.FileRequest<type>, _ data: ArraySlice<UInt8>
  ) -> Progress {
    done == asked.reply(done.error) ? .complete(.file(done.error, box: Array(data))) : .mismatch
  }
}
