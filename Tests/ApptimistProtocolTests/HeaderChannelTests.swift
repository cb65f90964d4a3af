internal import ApptimistProtocol
internal import Cryptography
internal import Testing

@Suite struct HeaderChannelTests {
  /// Two pairs, the one with the smaller key first.
  private let pairs = [EncryptionKeyPair.generate(for: .session), .generate(for: .session)]
    .sorted { $0.publicKey < $1.publicKey }
  private let nonce = fixed(0x6e) as BoxNonce
  private let limits = Frame.Limits()

  private func channel(_ own: Int) throws -> HeaderChannel {
    let channel = HeaderChannel(
      own: pairs[own], peer: pairs[1 - own].publicKey, dataNonce: nonce)
    guard let channel else { throw HeaderChannelError.doesNotOpen }
    return channel
  }

  private func frame(_ message: [UInt8]) throws -> Frame { try Frame(message, limits: limits) }

  @Test func bothSidesUnderstandEachOther() throws {
    var smaller = try channel(0)
    var larger = try channel(1)
    for round in 0..<3 {
      for sample in Sample.all where sample.header.count <= 4096 {
        let data = filled(UInt8(round), round * 100)
        let there = try frame(smaller.seal(sample.pdu, data: data[...]))
        #expect(there.eData == data[...])
        #expect(try larger.open(there) == sample.header)
        let back = try frame(larger.seal(header: sample.header, data: data[...]))
        #expect(back.eData == data[...])
        #expect(try smaller.open(back) == sample.header)
      }
    }
  }

  /// The smaller key counts 1, 3, 5, …, the larger 2, 4, 6, …, in the last two bytes of the nonce.
  @Test(arguments: [0, 1])
  func counts(own: Int) throws {
    var channel = try channel(own)
    let key = try #require(BoxKey(own: pairs[1 - own], peer: pairs[own].publicKey))
    for counter in stride(from: UInt16(own + 1), to: 600, by: 2) {
      let frame = try frame(channel.seal(.pause(.init()), data: [7]))
      #expect(key.open(frame.eHeader, nonce: nonce.ending(in: counter)) == [1, 7])
      #expect(frame.eHeader.count == 18 && frame.eData == [7])
    }
  }

  /// A frame that comes again, out of order, turned round or changed does not open, and the next one
  /// still does.
  @Test func opensOnlyTheNextOne() throws {
    var sender = try channel(0)
    var receiver = try channel(1)
    let first = try sender.seal(.pause(.init()))
    let second = try sender.seal(.resume(.init()))
    let failure = HeaderChannelError.doesNotOpen
    func refuses(_ message: [UInt8], _ channel: inout HeaderChannel) throws {
      let frame = try frame(message)
      do throws(HeaderChannelError) {
        _ = try channel.open(frame)
        Issue.record("it opens")
      } catch {
        #expect(error == failure)
      }
    }
    try refuses(second, &receiver)
    #expect(try receiver.open(frame(first)) == [1, 7])
    try refuses(first, &receiver)
    var reflected = try channel(0)
    try refuses(first, &reflected)
    for index in 8..<second.count {
      var changed = second
      changed[index] ^= 1
      try refuses(changed, &receiver)
    }
    try refuses(filled(0, 8), &receiver)
    try refuses([0, 0, 0, 15, 0, 0, 0, 0] + filled(0, 15), &receiver)
    #expect(try receiver.open(frame(second)) == [1, 8])
  }

  /// A channel is worn out from the first counter above 65,000, and exhausted before a counter wraps.
  @Test(arguments: [(0, 32_501, 32_768), (1, 32_501, 32_767)])
  func neverWraps(own: Int, wornOutAfter: Int, count: Int) throws {
    var sender = try channel(own)
    var receiver = try channel(1 - own)
    for number in 1...count {
      let message = try sender.seal(.pause(.init()))
      _ = try receiver.open(frame(message))
      guard sender.isWornOut == (number >= wornOutAfter),
        receiver.isWornOut == (number >= wornOutAfter)
      else {
        Issue.record("after \(number)")
        return
      }
    }
    do throws(HeaderChannelError) {
      _ = try sender.seal(.pause(.init()))
      Issue.record("a counter was used twice")
    } catch {
      #expect(error == .exhausted)
    }
    let frame = try frame(filled(0, 8))
    do throws(HeaderChannelError) {
      _ = try receiver.open(frame)
      Issue.record("a counter was used twice")
    } catch {
      #expect(error == .exhausted)
    }
    // The other direction has all its counters left.
    let back = try Frame(receiver.seal(.resume(.init())), limits: limits)
    #expect(try sender.open(back) == [1, 8])
  }

  @Test func refusesKeysThatAgreeOnNothing() {
    let ofLowOrder = HeaderChannel(own: pairs[0], peer: key(0), dataNonce: nonce) == nil
    #expect(ofLowOrder)
    let own = HeaderChannel(own: pairs[0], peer: pairs[0].publicKey, dataNonce: nonce) == nil
    #expect(own)
  }
}
