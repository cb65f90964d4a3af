internal import ApptimistProtocol
internal import Testing
internal import Formats

@Suite struct PDUTests {
  @Test(arguments: Sample.all)
  func encodesAndDecodes(sample: Sample) throws {
    #expect(sample.pdu.encoded() == sample.header)
    let decoded = try PDU(decoding: sample.header)
    #expect(decoded == sample.pdu)
    #expect(decoded.encoded() == sample.header)
  }

  /// Every prefix is too short, and one byte more is one too many.
  @Test(arguments: Sample.all)
  func takesNoOtherLength(sample: Sample) throws {
    let step = max(1, sample.header.count / 1000)
    for count in stride(from: 0, to: sample.header.count, by: step) {
      do throws(PDUError) {
        _ = try PDU(decoding: [UInt8](sample.header[..<count]))
        Issue.record("\(count) bytes are a PDU")
      } catch {
        guard case .malformed(let fault) = error, fault.reason == .truncated else {
          Issue.record("\(count) bytes: \(error)")
          return
        }
        #expect(fault.offset <= count)
      }
    }
    #expect(throws: PDUError.malformed(WireError(.leftOver, at: sample.header.count))) {
      try PDU(decoding: sample.header + [0])
    }
  }

  private static func message(_ recipient: UInt8, time: UInt64 = 1, from: UInt8 = 9) -> [UInt8] {
    PDU.message(
      PDU.Message(time: time, recipient: key(recipient), to: key(7), from: key(from))
    ).encoded()
  }

  @Test func messageForAnotherRecipient() {
    #expect(PDU.Message.header(Self.message(1), for: key(2)) == Self.message(2))
    #expect(PDU.Message.header([1, 5, 0], for: key(2)) == [1, 5, 0])
  }

  @Test func messagesThatDifferInTheRecipientOnly() {
    #expect(PDU.Message.isSame(Self.message(1), Self.message(2)))
    #expect(!PDU.Message.isSame(Self.message(1), Self.message(2, time: 2)))
    #expect(!PDU.Message.isSame(Self.message(1), Self.message(1, from: 8)))
    #expect(!PDU.Message.isSame(Self.message(1), Self.message(1) + [0]))
    #expect(PDU.Message.isSame([1], [1]) && !PDU.Message.isSame([1], [2]))
  }

  /// The samples have every type that there is.
  @Test func everyTypeHasASample() {
    #expect(Set(Sample.all.map { $0.header[1] }) == Set(1...18))
  }

  @Test(arguments: [0] + Array(19...255) as [UInt8])
  func unknownType(type: UInt8) {
    for tail in [0, 1, 200] {
      #expect(throws: PDUError.unknownType(type)) {
        try PDU(decoding: [1, type] + filled(1, tail))
      }
    }
  }

  /// Nothing behind an unknown version can be read.
  @Test(arguments: [0] + Array(2...255) as [UInt8])
  func unknownVersion(version: UInt8) {
    for tail: [UInt8] in [[], [1], [7], [7, 7], [99], filled(1, 200)] {
      #expect(throws: PDUError.unknownVersion(version)) { try PDU(decoding: [version] + tail) }
    }
  }

  /// These lengths are meant to take much memory, or to miss fields.
  @Test(
    arguments: [
      // Counts of keys that aren't there: the largest, the largest whose bytes fit into 32 and into
      // 31 bits, one too many, one too few, and a key cut short.
      ([1, 10] + filled(1, 32) + [0xff, 0xff, 0xff, 0xff], .truncated, 38),
      ([1, 10] + filled(1, 32) + [0x08, 0x00, 0x00, 0x00], .truncated, 38),
      ([1, 10] + filled(1, 32) + [0x07, 0xff, 0xff, 0xff] + filled(2, 64), .truncated, 38),
      ([1, 10] + filled(1, 32) + [0, 0, 0, 3] + filled(2, 64), .truncated, 38),
      ([1, 10] + filled(1, 32) + [0, 0, 0, 1] + filled(2, 64), .leftOver, 70),
      ([1, 10] + filled(1, 32) + [0, 0, 0, 2] + filled(2, 63), .truncated, 38),
      ([1, 10] + filled(1, 32) + [0, 0, 0, 0] + filled(2, 32), .leftOver, 38),
      // Lengths of one and two bytes past the end.
      ([1, 2, 0xff, 0xff], .truncated, 4),
      ([1, 3] + filled(1, 64) + [255, 255, 255] + filled(1, 764), .truncated, 579),
      ([1, 3] + filled(1, 64) + [0, 0, 0, 0], .leftOver, 69),
      ([1, 11, 0, 0, 1], .truncated, 5),
      ([1, 14, 0, 0] + filled(1, 32) + [0, 1], .truncated, 38),
      ([1, 15] + filled(1, 32) + [0, 0, 255] + filled(1, 254), .truncated, 37),
      ([1, 15] + filled(1, 32) + [0, 0, 0, 0], .leftOver, 37),
      ([1, 7, 0], .leftOver, 2),
    ] as [([UInt8], WireError.Reason, Int)])
  func hostile(header: [UInt8], reason: WireError.Reason, offset: Int) {
    #expect(throws: PDUError.malformed(WireError(reason, at: offset))) {
      try PDU(decoding: header)
    }
  }

  @Test func repliesNameTheSameFile() {
    let request = PDU.Write(
      directory: key(1), error: ErrorCode(rawValue: 77), filename: short("notes"))
    #expect(
      request.reply(.overQuota)
        == PDU.Write(directory: key(1), error: .overQuota, filename: short("notes")))
  }

  @Test func redirectsNoFurtherThanItsLength() {
    #expect(PDU.Redirect(uri: String(repeating: "u", count: 65_536)) == nil)
  }
}
