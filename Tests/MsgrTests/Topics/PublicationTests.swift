internal import Formats
internal import HTTPProtocol
internal import Foundation
internal import Platform
internal import TestSupport
internal import Testing

@testable import Msgr

/// What programs give is cut or dropped, and the message is kept.
@Suite struct PublicationTests {
  private func publication(
    _ change: (inout PublicationFields) -> Void
  ) throws -> Publication {
    var fields = PublicationFields(message: "m")
    change(&fields)
    return try fields.publication(upTo: 1000) { String(repeating: "x", count: $0) }
  }

  @Test(arguments: [
    ("=?UTF-8?B?8J+HqfCfh6ogQmFja3Vw?=", "🇩🇪 Backup"),
    ("=?UTF-8?Q?Sauvegarde_termin=C3=A9e?=", "Sauvegarde terminée"),
    ("=?utf-8?b?w6Q=?= =?utf-8?q?b?=", "äb"),
    // A character that is split over two words.
    ("=?UTF-8?B?8J+H?= =?utf-8?B?qfCfh6o=?= Backup", "🇩🇪 Backup"),
    ("=?UTF-8?B?!!!?=", "=?UTF-8?B?!!!?="),
    ("=?UTF-8?Q?a=FFb?= c", "=?UTF-8?Q?a=FFb?= c"),
    ("=?UTF-8?Q?a=FFb?= =?latin1?Q?=E4?=", "=?UTF-8?Q?a=FFb?= ä"),
    ("=?unheard-of?Q?a?= =?UTF-8?Q?b?=", "=?unheard-of?Q?a?= b"),
    ("plain =?= text", "plain =?= text"),
    ("=?iso-8859-1?Q?=E4?= and =?koi8-r?B?8NLJ18XU?=", "ä and Привет"),
  ])
  func encodedWordsAreDecoded(_ sent: String, _ expected: String) {
    #expect(HeaderText.decode(sent.utf8) == expected)
  }

  @Test func whatIsNoEncodedWordCostsNoMoreThanItsLength() {
    for part in ["=?a?b?c", "=?", "=?a?b?", "=?utf-8?q?x"] {
      let text = String(repeating: part, count: 20_000)
      #expect(HeaderText.decode(text.utf8) == text)
    }
  }

  @Test func actionsWithoutEndAreNotRead() throws {
    let many = (0..<30_000).map { "n\($0)=" }.joined(separator: ",")
    let parsed = try ActionsSyntax.parse("\(many);view,Open,https://h/")
    #expect(parsed.actions.count == 1 && parsed.notes.count == 1)
    let faults = try ActionsSyntax.parse(String(repeating: "x'y;", count: 90_000))
    #expect(faults.actions.count <= 4 && faults.notes.count <= 8)
    let good = try ActionsSyntax.parse(String(repeating: "view,Open,https://h/;", count: 9000))
    #expect(good.actions.count == 4)
    let publication = try publication { fields in
      fields.actions = good.actions
      fields.notes = Array(repeating: "a note", count: 50)
    }
    #expect(publication.parts.actions?.count == 3 && publication.notes.count == 10)
  }

  @Test(arguments: [
    String(repeating: "999999999w", count: 15_252), "9223372036854775807w",
    String(repeating: "1h", count: 1000),
  ])
  func wordsWithoutEndAreNoDelay(_ words: String) {
    #expect(DelayWords.moment(words, from: Timestamp(seconds: 1_800_000_000)) == nil)
    #expect(TopicSince(words, now: Timestamp(seconds: 1_800_000_000)) == nil)
  }

  @Test(
    arguments: [
      ("bytes=0-9223372036854775807", .part(0..<100)), ("bytes=0-99", .part(0..<100)),
      ("bytes=99-9223372036854775807", .part(99..<100)), ("bytes=0-0", .part(0..<1)),
      ("bytes=9223372036854775807-", .unsatisfiable), ("bytes=100-", .unsatisfiable),
      ("bytes=-9223372036854775807", .part(0..<100)), ("bytes=-0", .unsatisfiable),
      ("bytes=9223372036854775808-", .whole), ("bytes=5-4", .whole), ("bytes=0-1,3-4", .whole),
    ] as [(String, ByteRange)])
  func rangesStayWithinTheFile(_ text: String, _ expected: ByteRange) {
    #expect(ByteRange(text, of: 100) == expected)
  }

  @Test func aFieldThatIsNoUTF8IsLatin1() {
    #expect(HeaderText.decode([0x62, 0xe4, 0x72]) == "bär")
  }

  @Test func titlesAreCutAtACharacter() throws {
    let long = try publication { $0.title = String(repeating: "🔥", count: 75) }
    let title = try #require(long.parts.title)
    #expect(title.utf8.count <= 256 && title.hasSuffix("🔥…"))
    #expect(long.notes == ["Title was cut to 256 bytes"])
    #expect(
      try publication { $0.title = "Backup failed\r\non db1" }.parts.title == "Backup failed on db1"
    )
  }

  @Test func escapeSequencesAndControlCharactersGo() throws {
    let text = "\u{1b}[1;31mred\u{1b}[0m\u{7}\tand\r\n\u{1b}]0;title\u{7}plain\u{9b}2J\0!"
    #expect(try publication { $0.message = text }.text.text == "red\tand\r\nplain!")
  }

  @Test(arguments: [
    ("https://example.org/a?b=c", true), ("mailto:a@b.c", true), ("tel:+49", true),
    ("geo:52,13", true), ("myapp://open", true), ("javascript:alert(1)", false),
    ("JavaScript:alert(1)", false), ("data:text/html,x", false), ("intent://x", false),
    ("content://x", false), ("https://", false), ("no link", false), ("https://a b", false),
  ])
  func linksOfDangerousKindsAreDropped(_ link: String, _ isTaken: Bool) throws {
    let publication = try publication { $0.link = link }
    #expect((publication.parts.link != nil) == isTaken)
    #expect(publication.notes.isEmpty == isTaken)
  }

  @Test(arguments: [
    ("high", PublicationFields.PriorityScale.five, 8), ("3", .five, 5), ("max", .five, 10),
    ("1", .five, 1), ("7", .ten, 7), ("0", .ten, 0),
  ])
  func prioritiesHaveTwoScales(
    _ text: String, _ scale: PublicationFields.PriorityScale, _ expected: Int
  ) throws {
    let publication = try publication {
      $0.priority = text
      $0.priorityScale = scale
    }
    #expect(publication.parts.priority == expected)
  }

  @Test func wrongPrioritiesAreLeftOut() throws {
    let wrong = try publication { $0.priority = "11" }
    #expect(wrong.parts.priority == nil && wrong.notes.count == 1)
  }

  @Test(arguments: ["u=3, i", "u=1", "i", "u=0,i", "i=?0, u=7"])
  func theFieldOfAProxyIsNoPriority(_ value: String) throws {
    let head = try RequestHead(
      method: .post, path: "/t?p=5", authority: "h", fields: [("Priority", value)])
    #expect(PublishingParameters(head)[.priority] == "5")
  }

  @Test func levelsGoBackAndForth() {
    #expect((1...5).map { MessagePriority.number(ofLevel: $0) } == [1, 3, 5, 8, 10])
    #expect((0...10).map(MessagePriority.level(ofNumber:)) == [1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5])
  }

  @Test func aMalformedActionIsDroppedAlone() throws {
    let publication = try publication {
      $0.read(
        actions:
          "view, Open, https://a.b/; nonsense, x, y; http, Close, https://a.b/c, method=PUT, "
          + "headers.Authorization=Bearer z, body='{\"a\": 1, \"b\": 2}', clear=true")
    }
    let actions = try #require(publication.parts.actions)
    #expect(actions.map(\.action) == [.view, .http])
    #expect(actions[1].headers == ["Authorization": "Bearer z"])
    #expect(actions[1].body == #"{"a": 1, "b": 2}"#)
    #expect(actions[1].clear && actions[1].method == "PUT")
    #expect(publication.notes.count == 1)
  }

  @Test func actionsAfterTheThirdAreDropped() throws {
    let list = (0..<5).map { "view, Open \($0), https://a.b/\($0)" }.joined(separator: ";")
    let publication = try publication { $0.read(actions: list) }
    #expect(publication.parts.actions?.count == 3)
    #expect(publication.notes == ["Actions beyond 3 were dropped"])
  }

  @Test func tagsHaveALimit() throws {
    let publication = try publication {
      $0.tags = (0..<25).map { "t\($0)" } + [String(repeating: "x", count: 65)]
    }
    #expect(publication.parts.tags?.count == 20 && publication.notes.count == 1)
  }

  @Test func extrasComeBackAsTheyWere() throws {
    let json = #"{"android::action":{"onReceive":{"intentUrl":"x"}},"n":1.5,"i":7,"l":[true,null]}"#
    let extras = try #require(JSONValue(parsing: Array(json.utf8)))
    #expect(try publication { $0.extras = extras }.parts.extras?.json == json)
    let long = JSONValue.object(["x": .text(String(repeating: "y", count: 5000))])
    #expect(try publication { $0.extras = long }.parts.extras == nil)
  }

  @Test func aTextIsCutToTheLimit() throws {
    let publication = try publication { $0.message = String(repeating: "ä", count: 900) }
    #expect(publication.text.text.utf8.count <= 1000 && publication.text.text.hasSuffix("…"))
    #expect(throws: FieldError.self) { try self.publication { $0.message = "\u{1b}[0m" } }
  }

  @Test func fileNamesLoseFolders() {
    #expect(PublicationFields.fileName("../../etc/pass\u{7}wd") == "passwd")
    #expect(PublicationFields.fileName(#"C:\x\y.txt"#) == "y.txt")
    #expect(PublicationFields.fileName("..") == nil)
    #expect(
      PublicationFields.fileName(String(repeating: "n", count: 300) + ".txt")?.hasSuffix(".txt")
        == true)
  }
}

/// Times in words.
@Suite struct DelayWordsTests {
  private static let berlin: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    return calendar
  }()
  /// 2026-11-27 22:30 in Berlin.
  private static let now = Timestamp(seconds: 1_795_815_000)

  @Test(arguments: [
    ("30m", 1800), ("2 hours", 7200), ("1h30m", 5400), ("1 day", 86_400), ("45 sec", 45),
    ("in 5 minutes", 300), ("tomorrow", 86_400),
    // Half past midnight is 2 h away.
    ("12:30am", 7200), ("tomorrow, 12:30am", 7200), ("11pm", 1800), ("tomorrow at 11pm", 88_200),
  ])
  func wordsAreUnderstood(_ words: String, _ seconds: Int64) {
    let moment = DelayWords.moment(words, from: Self.now, in: Self.berlin)
    #expect(moment?.seconds == Self.now.seconds + seconds)
  }

  @Test func secondsAndDatesAreUnderstood() {
    #expect(DelayWords.moment("1795815001", from: Self.now)?.seconds == 1_795_815_001)
    #expect(
      DelayWords.moment("2026-11-28T00:00:00+01:00", from: Self.now)?.seconds == 1_795_820_400)
  }

  @Test(arguments: ["", "soon", "10", "25pm", "1 fortnight", "h"])
  func otherWordsAreNot(_ words: String) {
    #expect(DelayWords.moment(words, from: Self.now) == nil)
  }
}
