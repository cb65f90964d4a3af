internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import Testing
internal import WalletClient

@testable import Apptimist

/// Lines that are typed at the chat's terminal, and the messages that they name.
@Suite struct ChatLineTests {
  /// Types a text, and returns the lines that came of it and what the terminal was to show.
  private func type(_ text: String, _ editor: inout LineEditor) -> (lines: [String], echo: String) {
    var lines: [String] = []
    var echo: [UInt8] = []
    for byte in text.utf8 {
      switch editor.receive(byte) {
      case .typing(let bytes): echo += bytes
      case .line(let line): lines.append(line)
      case .end: lines.append("END")
      }
    }
    return (lines, String(decoding: echo, as: UTF8.self))
  }

  @Test func linesAreAsLongAsTheyAreTyped() {
    var editor = LineEditor()
    let long = String(repeating: "long line ", count: 7_000)
    #expect(type("\(long)\nnext\rlast\n\n", &editor).lines == [long, "next", "last", ""])
    let longest = String(repeating: "x", count: LineEditor.longest)
    #expect(type("\(longest)y\n", &editor).lines == [longest])
  }

  @Test func keysErase() {
    var editor = LineEditor()
    #expect(type("abc\u{7f}\u{8}d\n", &editor).lines == ["ad"])
    #expect(type("two words \u{17}x\n", &editor).lines == ["two x"])
    #expect(type("all\u{15}\u{7f}\u{15}\u{17}x\n", &editor).lines == ["x"])
    // A character goes whole, whatever it is made of.
    #expect(type("a👩‍👩‍👧é\u{7f}\u{7f}\n", &editor).lines == ["a"])
    #expect(type("ab\u{7f}", &editor).echo == "ab\u{8} \u{8}")
    #expect(type("é\u{7f}\n", &editor).echo == "é\r\u{1b}[Ka")
  }

  @Test func otherKeysTypeNothing() {
    var editor = LineEditor()
    let typed = type("a\u{1b}[A\u{1b}[1;5C\u{1b}OP\u{1b}x\u{1}b\tc\n", &editor)
    #expect(typed.lines == ["ab\tc"])
    #expect(typed.echo == "ab\tc")
    // The end counts only where nothing is typed.
    #expect(type("x\u{4}\n\u{4}", &editor).lines == ["x", "END"])
  }

  // MARK: - The messages that were shown

  private let ann = EncryptionKeyPair.generate().publicKey
  private let bob = EncryptionKeyPair.generate().publicKey
  private let forum = EncryptionKeyPair.generate().publicKey

  private func id(_ number: UInt8) -> MessageID {
    MessageID([UInt8](repeating: number, count: 64)) ?? MessageID()
  }

  @Test func anEditCountsForItsAuthorWithinAnHour() throws {
    var transcript = ChatTranscript()
    transcript.add(id(1), in: bob, by: bob, at: 1_000, "one", copies: [])
    func apply(
      _ text: String, by author: EncryptionPublicKey, in chat: EncryptionPublicKey, at time: UInt64
    ) -> String? {
      transcript.apply(.init(of: id(1), text: text), by: author, in: chat, at: time)?.text
    }
    #expect(apply("no", by: ann, in: bob, at: 1_100) == nil)
    #expect(apply("no", by: bob, in: forum, at: 1_100) == nil)
    #expect(apply("no", by: bob, in: bob, at: 4_601) == nil)
    #expect(apply("two", by: bob, in: bob, at: 1_200) == "one")
    // An older one came late.
    #expect(apply("no", by: bob, in: bob, at: 1_100) == nil)
    #expect(apply("three", by: bob, in: bob, at: 4_600) == "two")
    #expect(try #require(transcript[id(1)]).text == "three")
    #expect(transcript.apply(.init(of: id(2), text: "x"), by: bob, in: bob, at: 1_000) == nil)
    // Times that anybody can state.
    transcript.add(id(3), in: bob, by: bob, at: .max, "late", copies: [])
    #expect(transcript.apply(.init(of: id(3), text: "x"), by: bob, in: bob, at: 5) != nil)
  }

  /// What counts as an edit, held to the vectors that other apps are written by.
  @Test func editsCountAsInTheVectors() throws {
    struct Vectors: Decodable {
      struct Edit: Decodable {
        let written: UInt64
        let edited: UInt64
        let at: UInt64
        let isAuthors: Bool
        let counts: Bool
      }
      struct Contents: Decodable { let edits: [Edit] }
      let contents: Contents
    }
    let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../ApptimistProtocolTests/Vectors/people.json")
    let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url))
    #expect(vectors.contents.edits.count == 7)
    for edit in vectors.contents.edits {
      var transcript = ChatTranscript()
      transcript.add(id(1), in: bob, by: bob, at: edit.written, "one", copies: [])
      if edit.edited > 0 {
        _ = transcript.apply(.init(of: id(1), text: "two"), by: bob, in: bob, at: edit.edited)
      }
      let author = edit.isAuthors ? bob : ann
      let old = transcript.apply(.init(of: id(1), text: "x"), by: author, in: bob, at: edit.at)
      #expect((old != nil) == edit.counts, "\(edit)")
    }
  }

  @Test func messagesAreNamedByNumbers() throws {
    var transcript = ChatTranscript()
    transcript.add(id(1), in: bob, by: bob, at: 1, "one", copies: [id(101)])
    transcript.add(id(2), in: bob, by: ann, at: 2, "two", copies: [])
    transcript.add(id(3), in: forum, by: bob, at: 3, "three", copies: [])
    transcript.add(id(1), in: bob, by: bob, at: 1, "again", copies: [id(102)])
    #expect(transcript.newest(9, in: bob).map(\.text) == ["one", "two"])
    #expect(transcript[number: 3]?.id == id(3))
    #expect(transcript.newest(in: bob, by: ann, isOwn: true)?.number == 2)
    #expect(transcript.newest(in: bob, by: ann, isOwn: false)?.number == 1)
    // Only its author takes a message back, in its chat.
    #expect(transcript.takeBack(id(1), by: ann, in: bob) == nil)
    #expect(transcript.takeBack(id(1), by: bob, in: forum) == nil)
    #expect(transcript.takeBack(id(1), by: bob, in: bob)?.copies == [id(101), id(102)])
    #expect(transcript[id(1)] == nil)
    transcript.add(id(4), in: bob, by: ann, at: 4, "four", copies: [id(104)])
    transcript.forget(id(104))
    #expect(transcript[id(4)] == nil)
    for number in 0..<5_000 {
      let bytes = (0..<64).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) ^ 0x55 }
      let id = try #require(MessageID(bytes))
      transcript.add(id, in: ann, by: bob, at: 1, "x", copies: [])
    }
    #expect(transcript.newest(.max, in: ann).count <= 1_000)
    #expect(transcript.newest(1, in: ann).first?.number == 5_004)
  }

  @Test func referencesAreRead() {
    for (text, number, rest) in [
      ("#12 some words", 12, "some words"), ("#3", 3, ""), ("words #3", nil, "words #3"),
      ("#x y", nil, "#x y"), ("", nil, ""), ("👍", nil, "👍"),
    ] as [(String, Int?, String)] {
      let reference = ChatReference(text)
      #expect(reference.number == number && reference.rest == rest, "\(text)")
    }
  }
}
