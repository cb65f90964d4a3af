internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite struct SessionHubTests {
  @Test func givesEachSessionOfAUserTheSameInOrder() async throws {
    try await withServer { server in
      let readers = [TestUser("one"), TestUser("two")]
      // On both loops.
      var sessions: [TestDevice] = []
      for reader in readers {
        try await TestDevice.established(reader, on: server).socket.cut()
        for _ in 0..<4 { sessions.append(try await Self.session(of: reader, on: server)) }
      }
      let gone = try await Self.session(of: readers[0], on: server)
      var senders: [TestDevice] = []
      for number in 0..<6 {
        senders.append(try await TestDevice.established(TestUser("\(number)"), on: server))
      }
      // Each goes on without waiting, so that many come in one turn.
      try await withThrowingTaskGroup { group in
        for sender in senders {
          group.addTask {
            for number in 0..<40 {
              for reader in readers {
                try sender.send("\(number)", to: reader.key, time: UInt64(number))
              }
              if number == 20 { gone.socket.cut() }
            }
          }
        }
        try await group.waitForAll()
      }
      for reader in readers {
        let queue = try await Self.messages(
          240, of: try await Self.session(of: reader, on: server))
        #expect(Set(queue).count == 240)
        for session in sessions where session.user.key == reader.key {
          #expect(try await Self.messages(240, of: session) == queue)
          // Nothing more, and nothing twice.
          try await session.settle()
        }
        for sender in senders {
          let times = queue.filter { $0.sender == sender.user.key }.map(\.time)
          #expect(times == times.sorted())
        }
      }
    }
  }

  private struct Message: Hashable {
    let id: MessageID
    let sender: EncryptionPublicKey
    let time: UInt64
  }

  private static func session(of user: TestUser, on server: TestServer) async throws -> TestDevice {
    let device = try TestDevice(user, to: server)
    try device.send(user.login())
    return device
  }

  private static func messages(_ count: Int, of device: TestDevice) async throws -> [Message] {
    var messages: [Message] = []
    while messages.count < count {
      let (pdu, data) = try await device.nextPDU()
      guard case .message(let message) = pdu else {
        throw TestDevice.Failure(message: "\(pdu)")
      }
      messages.append(
        Message(
          id: MessageID(header: pdu.encoded(), data: data[...]), sender: message.from,
          time: message.time))
    }
    return messages
  }
}
