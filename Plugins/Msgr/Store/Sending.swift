internal import Cryptography
internal import MsgrProtocol
internal import Storage
internal import Time

/// The sending of a message where several nodes share the store: those of many users are one call.
enum Sending: BatchOperation {
  struct Input: Sendable {
    let store: MsgrStore
    let draft: Draft
    let sender: Caller
  }

  /// The delivery, or nil if the message is to be sent by ``run(_:_:)``.
  typealias Output = Delivery?

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output {
    try input.store.send(input.draft, by: input.sender, streaming: [], transaction)
  }

  static var call: BatchCall<Input, Output> {
    BatchCall(
      """
      SELECT place, id, wakes FROM awd_msgr_send_v1(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ) { inputs, arrays in
      // The recipients, each once, and the place of each message's, counted from 1.
      var (recipients, places): ([String], [Int64]) = ([], [])
      var known: [UserName: Int64] = [:]
      for input in inputs {
        let place = known[input.draft.recipient] ?? Int64(recipients.count + 1)
        if place > recipients.count {
          known[input.draft.recipient] = place
          recipients.append(input.draft.recipient.text)
        }
        places.append(place)
      }
      try arrays.append(blobs: inputs.map { $0.sender.tokenBytes })
      try arrays.append(texts: inputs.map { $0.sender.name.text })
      try arrays.append(texts: inputs.map { $0.sender.passwordText })
      try arrays.append(texts: recipients)
      try arrays.append(integers: places)
      try arrays.append(texts: inputs.map { $0.draft.text.text })
      let store = inputs[0].store
      let (now, limits) = (store.now, store.limits)
      try arrays.append(now)
      try arrays.append(MessageID(earliestAt: now))
      try arrays.append(limits.inbox)
      try arrays.append(now + limits.messageAge)
      try arrays.append(now + limits.pushHold)
      try arrays.append(now - limits.tokenAge)
      try arrays.append(now - MsgrStore.tokenUseStep)
      try arrays.append(limits.isPushing)
    } outcome: { row in
      let (place, id, wakes): (Int, MessageID?, Int) = (try row[0], try row[1], try row[2])
      return (
        place - 1, .success(id.map { Delivery(id: $0, isStored: true, wakesPhones: wakes > 0) })
      )
    }
  }
}

extension Caller {
  fileprivate var tokenBytes: [UInt8]? {
    guard case .token(let token) = self else { return nil }
    return token.hash.digest.bytes
  }

  fileprivate var passwordText: String? {
    guard case .password(_, let hash) = self else { return nil }
    return hash.text
  }
}
