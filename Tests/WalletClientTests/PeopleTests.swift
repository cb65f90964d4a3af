internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import Foundation
internal import Testing
internal import HTTPClient

@testable import WalletClient

/// What apps do above version 2 of the protocol, held to the vectors.
@Suite struct PeopleTests {
  private let vectors: [String: JSONValue]
  private let service: EncryptionPublicKey

  init() throws {
    let url = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../ApptimistProtocolTests/Vectors/people.json")
    vectors = try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: url))
    service = try #require(EncryptionPublicKey(hex: vectors["service"]["encryptionKey"].string))
  }

  private func pair(_ name: String) throws -> EncryptionKeyPair {
    let secret = vectors["users"][name]["encryptionSecret"].bytes
    return try #require(EncryptionKeyPair(secret: secret))
  }

  @Test func safetyNumbers() throws {
    func keys(_ name: String) throws -> SafetyNumber.Keys {
      let user = vectors["users"][name]
      return (
        try #require(EncryptionPublicKey(hex: user["encryptionKey"].string)),
        try #require(AuthenticationPublicKey(hex: user["authenticationKey"].string))
      )
    }
    let cases = vectors["safetyNumbers"].elements
    #expect(cases.count >= 4)
    for one in cases {
      let number = SafetyNumber(try keys(one["a"].string), try keys(one["b"].string), at: service)
      #expect(number.text == one["number"].string)
    }
    let (anna, bert) = (try keys("anna"), try keys("bert"))
    let number = SafetyNumber(anna, bert, at: service)
    #expect(number != SafetyNumber(anna, bert, at: anna.user))
    #expect(number != SafetyNumber(anna, (bert.user, anna.authentication), at: service))
  }

  @Test func thePrivateFile() throws {
    let file = vectors["privateFile"]
    let (anna, content) = (try pair(file["user"].string), file["content"].bytes)
    let opened = try #require(PrivateFile(opening: content, by: anna, at: service))
    #expect(CanonicalJSON.encode(opened) == Array(file["plain"].string.utf8))
    #expect(opened.sealed(by: anna, at: service, salt: file["salt"].bytes) == content)
    let bert = try pair("bert")
    #expect(opened.state(of: bert.publicKey) == "allowed")
    #expect(opened.entry("people", bert.publicKey)["verified"] == .truth(true))
    #expect(opened.state(of: anna.publicKey) == nil)
    #expect(PrivateFile(opening: content, by: bert, at: service) == nil)
    #expect(PrivateFile(opening: content, by: anna, at: bert.publicKey) == nil)
    for one in file["refused"].elements {
      #expect(PrivateFile(opening: one["content"].bytes, by: anna, at: service) == nil)
    }
    for length in content.indices {
      #expect(PrivateFile(opening: Array(content[..<length]), by: anna, at: service) == nil)
    }
    for index in content.indices {
      var changed = content
      changed[index] ^= 1
      #expect(PrivateFile(opening: changed, by: anna, at: service) == nil, "\(index)")
    }
    // What opens, and is no file.
    let plain: [[UInt8]] =
      ["", "[]", "null", "1", #"{"people":[]}"#, #"{"people":{"k":1}}"#, #"{"forums":null}"#]
      .map { Array($0.utf8) } + [[0xff], Array(repeating: UInt8(ascii: "["), count: 100_000)]
    for text in plain { #expect(CanonicalJSON.decode(PrivateFile.self, text) == nil) }
  }

  @Test func merging() throws {
    func file(_ value: JSONValue?) throws -> PrivateFile {
      try #require(CanonicalJSON.decode(PrivateFile.self, CanonicalJSON.encode(value)))
    }
    for one in vectors["merge"].elements {
      let (a, b, merged) = (try file(one["a"]), try file(one["b"]), try file(one["merged"]))
      #expect(a.merged(with: b) == merged)
      #expect(b.merged(with: a) == merged)
      #expect(merged.merged(with: a) == merged)
      #expect(PrivateFile().merged(with: merged) == merged)
    }
    // A change is later than what it changes, whatever the clock says, and keeps what it doesn't know.
    let text =
      #"{"people":{"\#(service.hex)":{"later":{"y":[2,null,true]},"state":"allowed","time":9}}}"#
    let before = try #require(CanonicalJSON.decode(PrivateFile.self, Array(text.utf8)))
    var after = before
    after.change("people", service, ["state": .text("blocked")], at: 3)
    #expect(after.merged(with: before) == after)
    #expect(before.merged(with: after) == after)
    let expected =
      #"{"people":{"\#(service.hex)":{"later":{"y":[2,null,true]},"state":"blocked","time":10}}}"#
    #expect(CanonicalJSON.encode(after) == Array(expected.utf8))
  }

  /// What there is in a content.
  private static let user = String(repeating: "0a", count: 32)
  private static let message = String(repeating: "0b", count: 64)

  @Test func contents() throws {
    let (user, message) = (Self.user, Self.message)
    // As the app writes them, each with its id, keys sorted.
    let whole = [
      #"{"id":"0011223344556677","text":"hello ☂"}"#,
      #"{"file":{"file":"\#(user.prefix(32))","key":"\#(user)","name":"a/b.png","size":9,"type":"image/png"},"id":"00"}"#,
      #"{"id":"00","invitation":{"forum":"\#(user)","name":"Club","secret":"\#(user)"},"text":"come"}"#,
      #"{"id":"00","sent":{"content":"{}","messageID":"\#(message)","time":7,"to":"\#(user)"}}"#,
      #"{"id":"00","takenBack":"\#(message)"}"#,
      #"{"id":"00","published":{"content":"{}","from":"\#(user)","signature":"\#(message)","time":7}}"#,
      #"{"id":"00","left":"\#(user)"}"#, #"{"id":"00","mayIRead":"\#(user)"}"#,
      #"{"changed":".people","id":"00"}"#,
    ]
    for text in whole {
      let content = try #require(MessageContent(Array(text.utf8)))
      #expect(String(decoding: content.data, as: UTF8.self) == text)
      // Unknown members are passed over.
      let more = "{\"later\":[{}]," + text.dropFirst()
      #expect(MessageContent(Array(more.utf8)) == content)
    }
    #expect(MessageContent(text: "x").id.wholeMatch(of: /[0-9a-f]{16}/) != nil)
    #expect(MessageContent(text: "x").data != MessageContent(text: "x").data)
  }

  @Test func malformedContents() {
    let (user, message) = (Self.user, Self.message)
    let file = #""file":"\#(user.prefix(32))","key":"\#(user)","name":"n","size":1,"type":"t""#
    let members = [
      #""text":1"#, #""text":null"#, #""text":["x"]"#, #""file":1"#, #""file":{}"#,
      #""file":{\#(file.replacing(":1,", with: ":-1,"))}"#,
      #""file":{\#(file.replacing(":1,", with: ":1.5,"))}"#,
      #""file":{\#(file.replacing(":1,", with: ":\"1\","))}"#,
      #""file":{\#(file.replacing(user.prefix(32), with: "0a", maxReplacements: 1))}"#,
      #""file":{\#(file.replacing("\"n\"", with: "null"))}"#,
      #""invitation":{"forum":"\#(user)","name":"n"}"#,
      #""invitation":{"forum":"\#(user)0a","secret":"\#(user)","name":"n"}"#,
      #""invitation":{"forum":"\#(user.uppercased())","secret":"\#(user)","name":"n"}"#,
      #""sent":{"to":"\#(user)","time":-1,"messageID":"\#(message)","content":"x"}"#,
      #""sent":{"to":"\#(user)","time":1,"messageID":"\#(user)","content":"x"}"#,
      #""sent":{"to":"\#(user)","time":1,"messageID":"\#(message)","content":{}}"#,
      #""published":{"from":"\#(user)","time":1,"signature":"","content":"x"}"#,
      #""takenBack":"\#(user)""#, #""takenBack":{}"#, #""left":"\#(message)""#,
      #""mayIRead":true"#, #""mayIRead":"\#(user.dropLast())g""#, #""changed":1"#,
    ]
    for member in members {
      // The others are read.
      #expect(
        MessageContent(Array("{\(member),\"later\":1,\"id\":\"00\"}".utf8))
          == MessageContent(id: "00"), "\(member)")
    }
    // What is no object is text, if it is UTF-8.
    for text in ["", "hello", "[]", "1", "\"x\"", "null", "{", "{\"text\":\"x\"", "{}}"] {
      #expect(MessageContent(Array(text.utf8)) == MessageContent(text: text, id: ""), "\(text)")
    }
    #expect(MessageContent([0xff]) == nil)
    #expect(MessageContent(Array("{\"text\":\"".utf8) + [0xc0, 0x80] + Array("\"}".utf8)) == nil)
    let deep = String(repeating: "[", count: 200_000)
    #expect(MessageContent(Array(deep.utf8))?.text == deep)
    #expect(MessageContent(Array("{\"later\":\(deep)".utf8))?.id == "")
  }
}

/// Contents, held to the vectors.
extension PeopleTests {
  @Test func contentsOfOthers() throws {
    let cases = vectors["contents"]["read"].elements
    #expect(cases.count > 25)
    for one in cases {
      let content = try #require(MessageContent(Array(one["content"].string.utf8)))
      var members = try #require(CanonicalJSON.decode([String: JSONValue].self, content.data))
      members["id"] = nil
      #expect(
        CanonicalJSON.encode(members) == CanonicalJSON.encode(one["members"]),
        "\(one["content"].string)")
    }
  }

  @Test func filesOfOthers() throws {
    let cases = vectors["contents"]["files"].elements
    #expect(cases.count == 2)
    for one in cases {
      let file = try #require(
        CanonicalJSON.decode(MessageContent.File.self, CanonicalJSON.encode(one["about"])))
      let boxes = one["boxes"].elements.map(\.bytes)
      #expect(file.files.count == boxes.count)
      #expect(file.open(boxes) == one["plain"].bytes)
      #expect(file.open(boxes.dropLast()) == nil)
      #expect(file.open(boxes + boxes) == nil)
      for index in boxes.indices {
        var changed = boxes
        changed[index][0] ^= 1
        #expect(file.open(changed) == nil)
      }
      guard boxes.count > 1 else { continue }
      var swapped = boxes
      swapped.swapAt(0, 1)
      #expect(file.open(swapped) == nil)
    }
  }
}

/// Linking, held to the vectors.
extension PeopleTests {
  @Test func links() throws {
    let vector = vectors["linking"]
    let code = "https://example.org/siren/app/\(vector["code"].string)"
    let link = try #require(DeviceLink(code))
    #expect(link.code == code)
    #expect(link.slot == vector["slot"].string)
    let new = try #require(EncryptionKeyPair(secret: vector["newSecret"].bytes))
    let old = try #require(EncryptionKeyPair(secret: vector["oldSecret"].bytes))
    let (part1, part2) = (vector["part1"].bytes, vector["part2"].bytes)
    #expect(link.request(from: new, name: vector["name"].string) == part1)
    let device = try #require(link.device(in: part1))
    #expect(device.key == new.publicKey && device.name == vector["name"].string)
    #expect(link.digits(of: device.key) == vector["digits"].string)
    let account = try #require(link.account(in: part2, for: new))
    #expect(CanonicalJSON.encode(account) == Array(vector["account"].string.utf8))
    #expect(link.answer(account, to: device.key, fresh: old) == part2)

    // The keys are for the account's service only.
    func identity() -> ServiceIdentity {
      ServiceIdentity(encryption: .generate(), authentication: .generate())
    }
    let (service, url) = (identity(), try #require(WebSocketURL("wss://example.org/siren")))
    let keys = DeviceKeys.generate()
    let own = AccountSecrets(keys, name: "anna", at: service, url)
    let answer = try #require(link.answer(own, to: device.key))
    let taken = try #require(link.account(in: answer, for: new))
    #expect(taken == own && taken.service.url == "\(url)")
    #expect(taken.keys(at: service)?.user == keys.user)
    #expect(
      taken.keys(at: service)?.authentication.publicKey == keys.authentication.publicKey)
    #expect(taken.keys(at: identity()) == nil && account.keys(at: service) == nil)

    // Whatever is changed or cut opens nothing.
    for one in vector["refused"].elements {
      #expect(link.account(in: one["part2"].bytes, for: new) == nil)
    }
    #expect(link.account(in: part2, for: old) == nil)
    let other = DeviceLink(at: url)
    #expect(other.device(in: part1) == nil && other.account(in: part2, for: new) == nil)
    for length in part1.indices { #expect(link.device(in: Array(part1[..<length])) == nil) }
    for length in part2.indices {
      #expect(link.account(in: Array(part2[..<length]), for: new) == nil)
    }
    for index in part1.indices {
      var changed = part1
      changed[index] ^= 1
      #expect(link.device(in: changed) == nil)
    }
    for name in ["", String(repeating: "x", count: 65)] {
      #expect(link.device(in: link.request(from: new, name: name)) == nil)
    }
    let nobody = EncryptionPublicKey()
    #expect(link.answer(account, to: nobody) == nil)
    #expect(link.account(in: nobody.bytes + part2.dropFirst(32), for: new) == nil)
  }

  @Test func malformedCodes() throws {
    let good = "uYTrzhgIwc3Srju1pA-SbUXpd8EEV9jMVsr84znLY3k"
    let site = "https://example.org/siren/app/#link="
    #expect(DeviceLink(site + good) != nil)
    let bad = [
      "", good, site, "\(site)\(good)A", "\(site)\(good.dropFirst())", "\(site)\(good.dropLast())=",
      "\(site)\(good.dropLast())l", "\(site)\(good.replacing("-", with: "+"))", "\(site) \(good)",
      "ftp://example.org/app/#link=\(good)", "https://example.org/app/#verify=\(good)",
    ]
    for code in bad { #expect(DeviceLink(code) == nil, "\(code)") }
  }

  @Test func malformedAccounts() {
    let text = vectors["linking"]["account"].string
    func account(_ text: String) -> AccountSecrets? {
      CanonicalJSON.decode(AccountSecrets.self, Array(text.utf8))
    }
    #expect(account(text) != nil)
    for (old, new) in [
      ("\"anna\"", "1"), ("name", "Name"), ("04ec", "04"), ("d757", "D757"), ("wss:", "\":"),
      ("\"service\":", "\"service\":[],\"x\":"), ("5a33", "zz33"), ("{", "["),
    ] {
      let changed = text.replacing(old, with: new, maxReplacements: 1)
      #expect(changed != text)
      #expect(account(changed) == nil, "\(changed)")
    }
  }
}

/// Exports, held to the vectors.
extension PeopleTests {
  @Test func exports() throws {
    let vector = vectors["export"]
    let (passphrase, file) = (vector["passphrase"].string, vector["file"].bytes)
    let export = try #require(AccountExport(opening: file, by: passphrase))
    #expect(export.account.name == "anna" && export.messages.isEmpty)
    #expect(export.people == PrivateFile())
    #expect(CanonicalJSON.encode(export) == Array(vector["plain"].string.utf8))
    let again = export.sealed(by: passphrase, iterations: 100_000, salt: vector["salt"].bytes)
    #expect(again == file)
    // Blanks and the way in which a digit is written don't count.
    for same in [vector["same"].string, "\t１２345\u{a0}67890\u{2003}123456789012345 67890\n"] {
      #expect(AccountExport(opening: file, by: same) == export)
    }
    for other in [
      "", "\(passphrase)1", "\(passphrase.dropLast())", String(repeating: "1", count: 513),
    ] {
      #expect(AccountExport(opening: file, by: other) == nil)
    }
    for one in vector["refused"].elements {
      #expect(AccountExport(opening: one["file"].bytes, by: passphrase) == nil)
    }
    for length in [0, 1, 18, 19, 22, 23, 54, 55, 56, 70, 71, 72, file.count - 1] {
      #expect(AccountExport(opening: Array(file[..<length]), by: passphrase) == nil, "\(length)")
    }
    #expect(AccountExport(opening: file + [0], by: passphrase) == nil)
    // A byte of each part: what it is, iterations, salt, tag, text.
    for index in [0, 17, 18, 20, 22, 23, 54, 55, 70, 71, file.count - 1] {
      var changed = file
      changed[index] ^= 1
      #expect(AccountExport(opening: changed, by: passphrase) == nil, "\(index)")
    }
    // Out of range, without counting up to them.
    for iterations: UInt32 in [0, 1, 99_999, 10_000_001, .max] {
      let number = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: iterations >> $0) }
      let changed = file[..<19] + number + file[23...]
      #expect(AccountExport(opening: Array(changed), by: passphrase) == nil)
    }
    let longest = String(repeating: "1", count: 4096)
    let sealed = try #require(export.sealed(by: longest, iterations: 100_000))
    #expect(AccountExport(opening: sealed, by: longest) == export)
    #expect(export.sealed(by: "\(longest)1") == nil)
  }

  /// What is sealed as it has to be, and is no export.
  @Test func malformedExports() throws {
    let vector = vectors["export"]
    let (passphrase, salt, plain) = ("1", vector["salt"].bytes, vector["plain"].string)
    let key = try #require(BoxKey(passphrase: passphrase, salt: salt, iterations: 100_000))
    func open(_ text: String) -> AccountExport? {
      let head = Array("apptimist export 1\n".utf8) + [0, 1, 0x86, 0xa0] + salt
      return AccountExport(
        opening: head + key.seal(Array(text.utf8), nonce: BoxNonce()), by: passphrase)
    }
    #expect(open(plain) != nil)
    let messages = open(plain.replacing("[]", with: "[{\"time\":1},null]"))?.messages
    #expect(messages == [.object([JSONValue.Member("time", .number(1))]), .null])
    for (old, new) in [
      ("{", "["), ("account\"", "Account\""), ("04ec", "04"), ("[]", "{}"), ("[]", "1"),
      ("\"people\":{}", "\"people\":[]"), ("\"people\":{}", "\"people\":{\"people\":{\"k\":1}}"),
      ("\"people\":{}", "\"x\":1"), ("870e", "870g"), ("d757", "D757"),
    ] {
      let changed = plain.replacing(old, with: new, maxReplacements: 1)
      #expect(changed != plain && open(changed) == nil, "\(old) \(new)")
    }
    for text in ["", "null", "{}", "{\"account\":\(String(repeating: "[", count: 100_000))"] {
      #expect(open(text) == nil)
    }
  }

  @Test func passphrases() {
    let made = (0..<100).map { _ in AccountExport.makePassphrase() }
    #expect(Set(made).count == made.count)
    for one in made { #expect(one.wholeMatch(of: /[0-9]{5}( [0-9]{5}){5}/) != nil) }
    #expect(Set(made.joined()) == Set("0123456789 "))
  }
}

extension JSONValue? {
  subscript(_ name: String) -> JSONValue? {
    self?.members?.first { $0.name == name }?.value
  }

  var elements: [JSONValue?] { if case .list(let list)? = self { list } else { [] } }
  var string: String { self?.string ?? "" }
  var bytes: [UInt8] { Hex.decode(string.utf8) ?? [] }
}
