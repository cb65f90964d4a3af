internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Storage

/// The delivery of one user's messages where several nodes share the store: those of many users are one call.
enum PostDelivery: BatchOperation {
  struct Input: Sendable {
    let store: ApptimistStore
    let copies: ArraySlice<MessageCopy>
    let login: AccountLogin
  }

  /// The outcome of each copy; nil for one whose mailbox is full, which is to be delivered by ``run(_:_:)``.
  typealias Output = [Delivered?]

  /// A copy counts as one, and so do 16 KiB.
  static func size(of input: Input) -> Int {
    input.copies.reduce(0) { $0 + 1 + $1.data.count >> 14 }
  }

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output {
    try input.store.deliverAtOnce(input.copies, from: input.login, transaction)
  }

  static var call: BatchCall<Input, Output> {
    BatchCall("SELECT post, results FROM awd_app_post_v1(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {
      inputs, arrays in
      // The place of each message's input, and those of each copy's message and recipient, counted from 1.
      var (posts, headers, datas): ([Int64], [[UInt8]], [[UInt8]]) = ([], [], [])
      var (messages, recipients, ids): ([Int64], [Int64], [[UInt8]]) = ([], [], [])
      var keys: [[UInt8]] = []
      var places: [EncryptionPublicKey: Int64] = [:]
      for (post, input) in inputs.enumerated() {
        var previous: MessageCopy?
        for copy in input.copies {
          if previous.map({ !copy.isSame(as: $0) }) ?? true {
            posts.append(Int64(post + 1))
            headers.append(copy.header)
            datas.append(copy.data)
          }
          previous = copy
          messages.append(Int64(posts.count))
          let place = places[copy.recipient] ?? Int64(keys.count + 1)
          if place > keys.count {
            places[copy.recipient] = place
            keys.append(copy.recipient.bytes)
          }
          recipients.append(place)
          ids.append(copy.id.bytes)
        }
      }
      try arrays.append(blobs: inputs.map { $0.login.user.bytes })
      try arrays.append(blobs: inputs.map { $0.login.authenticationKey.bytes })
      try arrays.append(integers: inputs.map { $0.login.isVersion1 ? 1 : 0 })
      try arrays.append(integers: posts)
      try arrays.append(blobs: headers)
      try arrays.append(blobs: datas)
      try arrays.append(blobs: keys)
      try arrays.append(integers: messages)
      try arrays.append(integers: recipients)
      try arrays.append(blobs: ids)
      let limits = inputs[0].store.limits
      try arrays.append(limits.mailboxEntries)
      try arrays.append(limits.mailboxBytes)
    } outcome: { row in
      let results: [UInt8] = try row[1]
      return (try row[0] - 1, .success(try delivered(results)))
    }
  }

  private static func delivered(_ results: [UInt8]) throws -> Output {
    guard results.count.isMultiple(of: 9) else { throw InconsistentMailbox() }
    return try stride(from: 0, to: results.count, by: 9).map { start in
      let number = results[(start + 1)..<(start + 9)].reduce(0 as Int64) { $0 << 8 | Int64($1) }
      let position = StreamPosition(rawValue: number)
      return switch results[start] {
      case 0: .delivered(position)
      case 1: .known(position)
      case 2: .unknownRecipient
      case 3: nil
      default: throw InconsistentMailbox()
      }
    }
  }
}
