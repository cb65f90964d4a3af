internal import ApptimistProtocol
internal import Testing

@Suite struct FrameTests {
  private static let limits = Frame.Limits(header: 4, data: 8)

  @Test(arguments: [(0, 0), (1, 0), (0, 1), (20, 24), (3, 5)])
  func findsTheParts(header: Int, data: Int) throws {
    let message =
      [0, 0, 0, UInt8(header), 0, 0, 0, UInt8(data)] + filled(1, header)
      + filled(2, data)
    let frame = try Frame(message, limits: Self.limits)
    #expect(frame.eHeader == filled(1, header)[...])
    #expect(frame.eData == filled(2, data)[...])
    for count in message.indices {
      #expect(throws: FrameError.lengthsDontAddUp) {
        try Frame([UInt8](message[..<count]), limits: Self.limits)
      }
    }
    #expect(throws: FrameError.lengthsDontAddUp) { try Frame(message + [0], limits: Self.limits) }
  }

  @Test(
    arguments: [
      ([], .lengthsDontAddUp),
      ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], .lengthsDontAddUp),
      ([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 9, 1], .lengthsDontAddUp),
      ([0x80, 0, 0, 0, 0x80, 0, 0, 0], .lengthsDontAddUp),
      ([0, 0, 0, 21, 0, 0, 0, 0] + filled(1, 21), .overLimit),
      ([0, 0, 0, 0, 0, 0, 0, 25] + filled(1, 25), .overLimit),
      ([0, 0, 0, 21, 0, 0, 0, 0] + filled(1, 22), .lengthsDontAddUp),
    ] as [([UInt8], FrameError)])
  func isNoFrame(message: [UInt8], error: FrameError) {
    #expect(throws: error) { try Frame(message, limits: Self.limits) }
  }

  @Test func longestMessage() throws {
    #expect(Self.limits.message == 8 + 20 + 24)
    #expect(Frame.Limits().message == 8 + 4096 + 16 + 1_048_576 + 16)
  }
}
