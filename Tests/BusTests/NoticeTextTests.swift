internal import Storage
internal import Testing

@testable import Bus

/// Notices as text.
@Suite struct NoticeTextTests {
  private let node = NodeID(rawValue: 0x1f)
  private let other = NodeID(rawValue: 2)

  @Test func noticesAreReadAsTheyWereWritten() throws {
    let notices = [
      Notice(Topic("msgr", [0, 10, 32, 255]), [1]), Notice(Topic("apptimist")),
      Notice(Topic("msgr", []), [UInt8](repeating: 7, count: Notice.limit)),
    ]
    let texts = NoticeText.texts(of: notices, from: node)
    #expect(texts.count == 1)
    #expect(NoticeText.notices(in: texts[0], except: other) == notices)
    #expect(NoticeText.notices(in: texts[0], except: node) == [])
    #expect(texts[0].hasPrefix("1f\nmsgr AAog/w== AQ==\napptimist  \n"))
  }

  @Test func manyNoticesFitIntoTextsOfLimitedLength() {
    let notices = (0..<5_000).map { number in
      Notice(
        Topic("apptimist", [UInt8](repeating: UInt8(number % 256), count: number % 700)),
        [UInt8](repeating: 1, count: number % 300))
    }
    let texts = NoticeText.texts(of: notices, from: node)
    #expect(texts.allSatisfy { $0.utf8.count < 8_000 })
    #expect(texts.flatMap { NoticeText.notices(in: $0, except: other) ?? [] } == notices)
  }

  @Test func whatIsTooLongIsLeftOut() {
    let long = Notice(Topic("msgr", [1]), [UInt8](repeating: 7, count: Notice.limit))
    #expect(NoticeText.texts(of: [long], from: node).isEmpty)
    #expect(NoticeText.texts(of: [], from: node).isEmpty)
  }

  @Test(arguments: [
    "", "\n", "x", "2\n", "2\nmsgr", "2\nmsgr AA==", "2\nmsgr AA== A", "2\nmsgr AA== AA== AA==",
    "2\nmsgr A\u{0}== AA==", "2\nmsgr é é", "99999999999999999999\nmsgr  ",
  ])
  func whatIsNoneIsRefused(_ text: String) {
    #expect(NoticeText.notices(in: text, except: node) == nil)
  }
}
