internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

@Suite struct ValueTests {
  @Test(arguments: [
    "a", "anna", "a b", "Zoë", "日本", String(repeating: "x", count: 64), "\u{1F469}",
  ])
  func names(_ text: String) throws {
    #expect(try UserName(text, in: .username).text.utf8.elementsEqual(text.utf8))
  }

  @Test(arguments: [
    "", String(repeating: "x", count: 65), "a\nb", "a\u{0}b", "\u{7f}", "\u{85}", "a\u{200d}b",
    "\u{feff}", "\u{2028}", "\u{2029}", "\u{202e}evil",
    "a" + String(repeating: "\u{301}", count: 5000),
    String(repeating: "ë", count: 33),
  ])
  func namesThatAreNone(_ text: String) {
    #expect(throws: FieldError.self) { try UserName(text, in: .userTo) }
  }

  @Test func namesAreNormalized() throws {
    let composed = try UserName("zo\u{eb}", in: .username)
    let decomposed = try UserName("zoe\u{308}", in: .username)
    #expect(composed == decomposed)
    #expect(decomposed.text.utf8.elementsEqual("zo\u{eb}".utf8))
    // 90 bytes that are 60 in NFC.
    #expect(
      try UserName(String(repeating: "e\u{308}", count: 30), in: .username).text.utf8.count == 60)
    // A singleton, and a composition that is excluded.
    #expect(try UserName("\u{212b}", in: .username).text.unicodeScalars.map(\.value) == [0xc5])
    #expect(
      try UserName("\u{958}", in: .username).text.unicodeScalars.map(\.value) == [0x915, 0x93c])
  }

  @Test(arguments: [64, 66, 200]) func deviceTokens(_ length: Int) throws {
    let device = try DeviceID(String(repeating: "A", count: length))
    #expect(device.text == String(repeating: "a", count: length))
    #expect(device.isPushable)
  }

  @Test(arguments: [32, 1024]) func devicesOfGoogles(_ length: Int) throws {
    let token = "aZ_:-0" + String(repeating: "Q", count: length - 6)
    let device = try DeviceID("fcm:\(token)")
    #expect(device.text == "fcm:\(token)")
    #expect(device.fcmToken.map(String.init) == token)
    #expect(device.isPushable)
    #expect(device.owned(by: UserName(stored: "anna")) == device)
    #expect("\(device)".utf8.count <= "fcm:".utf8.count + 8 + "…".utf8.count)
  }

  @Test(arguments: ["stream:abcdefgh", "stream:ABC-1234-" + String(repeating: "z", count: 55)])
  func streamingDevices(_ text: String) throws {
    let device = try DeviceID(text)
    #expect(device.text == text)
    #expect(!device.isPushable)
  }

  @Test(arguments: [
    "", String(repeating: "a", count: 62), String(repeating: "a", count: 65),
    String(repeating: "a", count: 202), String(repeating: "g", count: 64), "stream:abcdefg",
    "stream:" + String(repeating: "z", count: 65), "stream:abc_defgh", "Stream:abcdefgh",
    String(repeating: "ａ", count: 64), "fcm:", "fcm:" + String(repeating: "a", count: 31),
    "fcm:" + String(repeating: "a", count: 1025), "FCM:" + String(repeating: "a", count: 32),
    "fcm:" + String(repeating: "a", count: 31) + "/",
    "fcm:" + String(repeating: "a", count: 31) + "é",
    "fcm:" + String(repeating: "a", count: 31) + "\n",
    "fcm:" + String(repeating: "a", count: 32) + " ",
  ])
  func devicesThatAreNone(_ text: String) {
    #expect(throws: FieldError.self) { try DeviceID(text) }
  }

  @Test(arguments: ["", String(repeating: "p", count: 129), "a\tb", "\u{9b}"])
  func passwordsThatAreNone(_ text: String) {
    #expect(throws: FieldError.self) { try Password(text) }
  }

  @Test func passwordsAreBytesAndNotShown() throws {
    #expect(try Password("zoe\u{308}").bytes != Password("zo\u{eb}").bytes)
    let password = try Password("secret")
    var dumped = ""
    dump(password, to: &dumped)
    #expect(!"\(password) \(dumped)".contains("secret"))
    #expect(!dumped.contains("115"))
  }

  @Test(arguments: ["", "\u{0}", "a\u{8}", "\u{7f}", "\u{80}"])
  func messagesThatAreNone(_ text: String) {
    #expect(throws: FieldError.self) { try MessageText(text) }
  }

  @Test func messagesMayHaveLines() throws {
    #expect(try MessageText("a\tb\r\nc").text.utf8.elementsEqual("a\tb\r\nc".utf8))
  }

  @Test func messagesFitIntoPushes() throws {
    let short = try UserName("a", in: .userFrom)
    let long = try UserName(String(repeating: "\"", count: 64), in: .userFrom)
    func longest(_ character: String, from name: UserName) throws -> Int {
      var length = 1
      while try MessageText(String(repeating: character, count: length + 1)).fitsIntoPush(
        from: name)
      {
        length += 1
      }
      return length
    }
    let plain = try longest("x", from: short)
    #expect((3900...4000).contains(plain))
    #expect(try longest("\n", from: short) == plain / 2)
    #expect(try longest("x", from: long) == plain - 2 * 127)
  }

  @Test func identifiers() throws {
    #expect(try MsgrMessageID("00000000000000ff", in: .since).rawValue == 255)
    #expect(MsgrMessageID(rawValue: 255).text == "00000000000000ff")
    #expect(
      MsgrMessageID(earliestAt: Timestamp(milliseconds: 1_800_000_000_000)).text
        == "01a3185c50000000")
    #expect(try MsgrMessageID("ffffffffffffffff", in: .since).rawValue == .max)
    for text in [
      "", "ff", "00000000000000FF", "00000000000000fg", "+000000000000001", " 00000000000000f",
    ] {
      #expect(throws: FieldError.self) { try MsgrMessageID(text, in: .since) }
    }
  }

  @Test(arguments: [
    ("Bearer " + String(repeating: "ab", count: 32), true),
    ("bearer   " + String(repeating: "ab", count: 32), true),
    ("Bearer abc", true), ("Bearer", true), ("Basic YTpi", false), ("", false),
  ])
  func authorization(_ value: String, isBearer: Bool) {
    #expect((BearerToken.hash(inAuthorization: value.utf8) != nil) == isBearer)
  }

  @Test func tokensAreHashedAndNotShown() {
    let token = BearerToken(Array(repeating: 0xab, count: 32))
    #expect(BearerToken.hash(inAuthorization: "Bearer \(token.text)".utf8) == token.hash)
    #expect("\(token)" == "***")
  }
}
