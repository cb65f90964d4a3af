import ApptimistProtocol
import Cryptography
import Synchronization

@testable import Apptimist

/// A device that talks at random until its connection ends.
final class Talker: @unchecked Sendable {
  // Safe to share: one task uses it, and others look once that is over; but for this flag.
  private let isDone = Atomic(false)
  private let device: TestDevice
  private let number: Int
  /// When the messages of each sender's devices were sent, as they came.
  private(set) var times: [Sender: [UInt64]] = [:]
  private(set) var wasRedirected = false

  /// One device of a user.
  struct Sender: Hashable {
    let user: EncryptionPublicKey
    let number: UInt64
  }

  init(_ user: TestUser, on server: TestServer, number: Int) throws {
    self.number = number
    device = try TestDevice(user, to: server)
    try device.send(try user.new())
    try device.send(user.login())
  }

  /// Whether all that it first said was dealt with, or it has ended.
  var hasTalked: Bool { isDone.load(ordering: .relaxed) }

  /// Talks until the server has ended the connection.
  func talk(to users: [EncryptionPublicKey]) async {
    defer { isDone.store(true, ordering: .relaxed) }
    var count: UInt64 = 0
    while true {
      do {
        for _ in 0..<Int.random(in: 1...20) {
          count += 1
          try say(count, to: users.randomElement() ?? EncryptionPublicKey())
        }
        guard let nobody = ShortBytes("?") else { return }
        try device.send(.searchByUid(PDU.SearchByUid(maxUsers: 1, uid: nobody)))
      } catch {
        // The server has ended the connection; what it said before is read still.
      }
      while true {
        guard case .pdu(let pdu, _)? = try? await device.next() else {
          return device.socket.cut()
        }
        if pdu == .user(.nobody) { break }
        take(pdu)
      }
      isDone.store(true, ordering: .relaxed)
    }
  }

  private func say(_ count: UInt64, to user: EncryptionPublicKey) throws {
    switch Int.random(in: 0..<10) {
    case 0: try device.send(.pause(PDU.Pause()))
    case 1: try device.send(.resume(PDU.Resume()))
    case 2: try device.send(.searchByKey(PDU.SearchByKey(key: device.user.key)))
    case 3:
      guard let name = ShortBytes("file") else { return }
      try device.send(.lock(PDU.Lock(directory: device.user.key, filename: name)))
    default: try device.send("talk", to: user, time: count * 100 + UInt64(number))
    }
  }

  private func take(_ pdu: PDU) {
    switch pdu {
    case .message(let message):
      let sender = Sender(user: message.from, number: message.time % 100)
      times[sender, default: []].append(message.time)
    case .redirect: wasRedirected = true
    default: break
    }
  }
}
