internal import Foundation
internal import Platform
internal import TestSupport
internal import Testing

@testable import Msgr
@testable import Push

struct PushPayloadTests {
  private func payload(_ push: LeasedPush) throws -> [String: Any] {
    let json = APNsPayload.json(of: try #require(push.message))
    #expect(json.count <= 4096)
    return try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
  }

  @Test func isWhatTheProtocolSays() throws {
    let push = try PushFixture.push(text: "a \"b\" \\ \t\r\n / é 🙂", from: "Zoë", badge: 3)
    let expected =
      #"{"aps":{"alert":{"title":"Zoë","body":"a \"b\" \\ \t\r\n / é 🙂"},"sound":"default","#
      + #""badge":3},"UserFrom":"Zoë","Message":"a \"b\" \\ \t\r\n / é 🙂","#
      + #""Id":"000000000000018c"}"#
    #expect(String(decoding: try #require(push.payload).text, as: UTF8.self) == expected)
    _ = try payload(push)
  }

  @Test func aPublishedTitleStandsBehindItsAuthor() throws {
    let push = try PushFixture.push(from: "mallory", parts: MessageParts(title: "Your Bank"))
    let aps = try #require(try payload(push)["aps"] as? [String: Any])
    #expect((aps["alert"] as? [String: Any])?["title"] as? String == "mallory: Your Bank")
    #expect(try payload(push)["Title"] as? String == "Your Bank")
  }

  @Test func theHighestPriorityIsCriticalWhereAppleAllowsIt() throws {
    for (priority, mayBeCritical, level) in [
      (10, true, "critical"), (10, false, "time-sensitive"), (8, true, "time-sensitive"),
    ] {
      let push = try PushFixture.push(from: "anna", parts: MessageParts(priority: priority))
      let json = APNsPayload.json(
        of: try #require(push.message), mayBeCritical: mayBeCritical)
      let payload = try #require(
        try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
      let aps = try #require(payload["aps"] as? [String: Any])
      #expect(aps["interruption-level"] as? String == level)
      let sound = aps["sound"] as? [String: Any]
      #expect((sound?["critical"] as? Int == 1) == (level == "critical"))
      if level != "critical" { #expect(aps["sound"] as? String == "default") }
    }
  }

  @Test func browsersGetEmojiAndReplaceASequence() throws {
    let parts = MessageParts(
      title: "Disk", tags: ["warning", "nas"], sequence: "disk", topic: "alerts")
    for isDeclarative in [false, true] {
      let push = try PushFixture.push(from: "#alerts", parts: parts, isDeclarative: isDeclarative)
      let bytes = WebPushPayload.json(
        of: try #require(push.message), isShort: false, page: "/msgr/")
      let json = try #require(
        try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
      if isDeclarative {
        let notification = try #require(json["notification"] as? [String: Any])
        #expect(notification["title"] as? String == "#alerts: ⚠️ Disk")
        #expect(notification["tag"] as? String == "#alerts/disk")
      } else {
        #expect(json["Emoji"] as? String == "⚠️")
        #expect(json["Tags"] as? [String] == ["warning", "nas"])
      }
    }
  }

  @Test func aLongPublicationIsCutAndSaysSo() throws {
    let text = String(repeating: "é\"", count: 4000)
    let parts = MessageParts(
      title: String(repeating: "\\", count: PublicationFields.longestTitle), priority: 10,
      link: "https://h/", icon: "https://h/" + String(repeating: "i", count: 1500))
    let push = try PushFixture.push(
      text: text, from: String(repeating: "\"", count: UserName.longestSender), badge: .max,
      parts: parts)
    let json = try payload(push)
    let shown = try #require(json["Message"] as? String)
    #expect(shown.hasSuffix("…") && text.hasPrefix(shown.dropLast()))
    #expect(json["Cut"] as? Bool == true)
    // What is least needed goes first.
    #expect(json["Icon"] == nil)
    #expect(json["Link"] as? String == "https://h/")
    let aps = try #require(json["aps"] as? [String: Any])
    #expect(aps["interruption-level"] as? String == "time-sensitive")
    #expect(((aps["alert"] as? [String: Any])?["body"] as? String)?.isEmpty == false)
  }

  @Test(arguments: [false, true])
  func whateverAPublisherMakesLongFits(isDeclarative: Bool) throws {
    let address = "https://h/" + String(repeating: "\"", count: 2030)
    let attachment = MessageAttachment(
      name: String(repeating: "n", count: 255), url: address)
    let push = try PushFixture.push(
      text: String(repeating: "t", count: 500),
      from: String(repeating: "\"", count: UserName.longestSender),
      parts: MessageParts(
        title: String(repeating: "\"", count: PublicationFields.longestTitle), link: address,
        attachment: attachment), isDeclarative: isDeclarative)
    let message = try #require(push.message)
    let web = WebPushPayload.json(of: message, isShort: false, page: "/msgr/")
    #expect(web.count <= WebPushEncryption.longest)
    let json = try #require(try JSONSerialization.jsonObject(with: Data(web)) as? [String: Any])
    let notification = json["notification"] as? [String: Any]
    let text = try #require((notification?["body"] ?? json["Message"]) as? String)
    #expect(text.hasPrefix(String(repeating: "t", count: 250)))
    _ = try payload(push)
    #expect(FCMMessage.data(of: message).count <= 5000)
  }

  @Test func whatIsOfLowPriorityMakesNoSound() throws {
    let push = try PushFixture.push(parts: MessageParts(priority: 2))
    let aps = try #require(try payload(push)["aps"] as? [String: Any])
    #expect(aps["sound"] == nil)
    #expect(aps["interruption-level"] as? String == "passive")
  }

  @Test func saysThatItIsARequest() throws {
    #expect(try payload(PushFixture.push(isAddRequest: true))["AddRequest"] as? Bool == true)
    #expect(try payload(PushFixture.push())["AddRequest"] == nil)
  }

  @Test(arguments: ["x", "é", "🙂", "👨‍👩‍👧‍👦", "\"", "\n", "e\u{301}"])
  func cutsTheAlertsCopyBetweenCharacters(character: String) throws {
    var text = ""
    for length in [1000, 1900, 2000, 3000, 3500, 3900] {
      text = String(repeating: character, count: length / character.utf8.count)
      let message = try MessageText(text)
      let sender = try PushFixture.name("anna")
      guard message.fitsIntoPush(from: sender) else { continue }
      let push = try PushFixture.push(text: text, badge: 99_999_999)
      let json = try payload(push)
      #expect(json["Message"] as? String == text)
      let alert = (json["aps"] as? [String: Any])?["alert"] as? [String: Any]
      let body = try #require(alert?["body"] as? String)
      #expect(text.utf8.starts(with: body.utf8))
      #expect(body.utf8.count.isMultiple(of: character.utf8.count))
      if body != text {
        // Nothing more would have fitted.
        let escaped = character == "\"" || character == "\n" ? 2 : character.utf8.count
        #expect(try #require(push.payload).text.count + escaped > 4096)
      }
    }
  }

  @Test(arguments: [1, 64])
  func theLongestMessageThatFitsDoesWithTheLongestName(name: Int) throws {
    let sender = String(repeating: "\"", count: name)
    let user = try PushFixture.name(sender)
    func fits(_ count: Int) throws -> Bool {
      try MessageText(String(repeating: "é", count: count)).fitsIntoPush(from: user)
    }
    let longest = try #require(try (1...2048).last { try fits($0) })
    let push = try PushFixture.push(
      text: String(repeating: "é", count: longest), from: sender, isAddRequest: true,
      badge: .max)
    _ = try payload(push)
    #expect(try #require(push.payload).text.count > 4080)
  }

  @Test func googleTakesTheLongestMessageAndAPublishedOne() throws {
    let name = String(repeating: "n", count: 64)
    let sender = UserName(stored: name)
    // Blanks are not escaped, so they leave most room.
    for character in ["x", "é", "\"", "\n"] {
      var text = ""
      while let longer = try? MessageText(text + String(repeating: character, count: 16)),
        longer.fitsIntoPush(from: sender)
      { text = longer.text }
      let push = try PushFixture.push(text: text, from: name, isAddRequest: true, badge: 9_999_999)
      let message = try #require(push.message)
      let json = try #require(
        try JSONSerialization.jsonObject(with: Data(FCMMessage.data(of: message)))
          as? [String: String])
      #expect(json["Message"] == text)
      #expect(json.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= 4096)
    }
    func json(_ push: LeasedPush, at time: Timestamp) throws -> String {
      let data = FCMMessage.data(of: try #require(push.message))
      return String(decoding: FCMProvider.message(push, data, [], at: time), as: UTF8.self)
    }
    let published = try PushFixture.push(
      parts: MessageParts(title: "T", priority: 1, link: "https://example.org/"))
    let late = try json(published, at: published.expires + .seconds(1))
    #expect(late.contains(#""Link":"https://example.org/","Priority":"1","Title":"T""#))
    #expect(late.contains(#""priority":"NORMAL","ttl":"0s""#))
    let early = try json(try PushFixture.push(), at: Timestamp(seconds: 0))
    #expect(early.contains(#""priority":"HIGH","ttl":"2419200s""#))
  }
}
