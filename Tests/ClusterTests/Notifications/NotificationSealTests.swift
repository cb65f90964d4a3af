internal import Cryptography
internal import Storage
internal import Synchronization
internal import Testing
internal import Platform

@testable import Cluster

/// Messages that nodes seal for each other.
@Suite final class NoticeSealTests: Sendable {
  private let box = SecretBox()
  private let clock = Atomic<Int64>(1_800_000_000_000)

  private func seal(_ number: Int64, _ box: SecretBox? = nil) -> NotificationSeal {
    NotificationSeal(of: NodeID(rawValue: number), box: box ?? self.box) { [self] in
      Timestamp(milliseconds: clock.load(ordering: .relaxed))
    }
  }

  @Test func noticesAreReadAsTheyWereSealed() {
    let notices = (0..<5_000).map { number in
      NodeNotification(
        NotificationTopic(
          "apptimist", [UInt8](repeating: UInt8(number % 256), count: number % 700)),
        [UInt8](repeating: 1, count: number % 300))
    }
    var (count, counts) = (UInt64(0), [NodeID: UInt64]())
    let messages = seal(1).seal(notices, to: NodeID(rawValue: 2), count: &count)
    #expect(messages.allSatisfy { $0.utf8.count < 8_000 })
    #expect(count == UInt64(messages.count))
    #expect(messages.flatMap { seal(2).open($0, counts: &counts) ?? [] } == notices)
    let long = NodeNotification(
      NotificationTopic("msgr", [1]), [UInt8](repeating: 7, count: NodeNotification.limit))
    #expect(seal(1).seal([long], to: NodeID(rawValue: 2), count: &count).isEmpty)
  }

  @Test func aMessageIsWorthNothingAgainElsewhereOrLate() {
    var (count, counts) = (UInt64(0), [NodeID: UInt64]())
    let notice = NodeNotification(NotificationTopic("msgr", [1]), [2])
    func message(_ box: SecretBox? = nil) -> String {
      seal(1, box).seal([notice], to: NodeID(rawValue: 2), count: &count)[0]
    }
    let (first, second) = (message(), message())
    #expect(seal(3).open(second, counts: &counts) == nil)
    #expect(seal(1).open(second, counts: &counts) == nil)
    #expect(seal(2).open(message(SecretBox()), counts: &counts) == nil)
    #expect(seal(2).open(second, counts: &counts) == [notice])
    // Again, or an earlier one.
    for old in [second, first] { #expect(seal(2).open(old, counts: &counts) == nil) }
    let late = message()
    for step in [61_000, -122_000] as [Int64] {
      clock.add(step, ordering: .relaxed)
      #expect(seal(2).open(late, counts: &counts) == nil)
    }
    clock.add(61_000, ordering: .relaxed)
    #expect(seal(2).open(late, counts: &counts) == [notice])
  }

  @Test func whatIsNoneIsRefused() {
    var (count, counts) = (UInt64(0), [NodeID: UInt64]())
    let good = seal(1).seal(
      [NodeNotification(NotificationTopic("a"))], to: NodeID(rawValue: 2), count: &count)[
        0]
    var texts = ["", "\n", "x", "2\nmsgr AA== AA==", String(repeating: "A", count: 7_999)]
    // Before the padding stands a sign whose last bits mean nothing.
    for index in good.indices.dropLast(3) {
      var changed = good
      changed.replaceSubrange(index...index, with: good[index] == "A" ? "B" : "A")
      texts.append(changed)
    }
    texts += [String(good.dropLast(4)), "\(good)AAAA"]
    for bytes in [[], [1, 2, 3], [UInt8](repeating: 0, count: 31)] {
      texts.append(String(decoding: box.seal(bytes), as: UTF8.self))
    }
    for text in texts { #expect(seal(2).open(text, counts: &counts) == nil, "\(text)") }
    #expect(counts.isEmpty)
  }
}
