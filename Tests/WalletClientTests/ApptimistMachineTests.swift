internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import WalletClient

/// The device's decisions in version 1, without a socket.
@Suite struct ApptimistMachineTests {
  private let keys = DeviceKeys.generate()
  private let other = DeviceKeys.generate().user

  private func machine(
    account: NewAccount? = nil, head: MessageID = MessageID(),
    _ configure: (inout DeviceOptions) -> Void = { _ in }
  ) throws -> DeviceMachine {
    var options = DeviceOptions()
    configure(&options)
    let service = ServiceIdentity(encryption: .generate(), authentication: .generate())
    let participant = try #require(Participant(keys, at: service))
    return DeviceMachine(participant, account: account, cursor: DeviceCursor(head: head), options)
  }

  /// A machine that the service has let in.
  private func established(
    _ configure: (inout DeviceOptions) -> Void = { _ in }
  ) throws -> DeviceMachine {
    var machine = try machine(configure)
    _ = machine.connected()
    #expect(receive(&machine, found(keys.user)) == [.established])
    return machine
  }

  private func receive(
    _ machine: inout DeviceMachine, _ pdu: PDU, _ data: [UInt8] = []
  ) -> [DeviceMachine.Action] {
    machine.received(pdu, data: data[...])
  }

  private func found(_ key: EncryptionPublicKey, count: UInt16 = 0) -> PDU {
    .user(PDU.User(count: count, key: key, name: ShortBytes.empty, uid: .empty))
  }

  private func search(_ key: EncryptionPublicKey) -> PDU {
    .searchByKey(PDU.SearchByKey(key: key))
  }

  private func message(_ time: UInt64) -> PDU {
    .message(PDU.Message(time: time, recipient: keys.user, to: keys.user, from: other))
  }

  private func id(_ pdu: PDU, _ data: [UInt8] = []) -> MessageID {
    MessageID(header: pdu.encoded(), data: data[...])
  }

  private func types(_ actions: [DeviceMachine.Action]) -> [UInt8] {
    actions.map { if case .send(.version1(let pdu, _)) = $0 { pdu.encoded()[1] } else { 0 } }
  }

  @Test func makesTheAccountOnceAndLogsIn() throws {
    let account = try #require(NewAccount(name: "Ann", uid: "u", token: "t"))
    var machine = try machine(account: account)
    #expect(types(machine.connected()) == [PDU.New.type, PDU.Login.type, PDU.SearchByKey.type])
    // The service may not have made it: it is asked again.
    _ = machine.disconnected()
    #expect(types(machine.connected()) == [PDU.New.type, PDU.Login.type, PDU.SearchByKey.type])
    #expect(receive(&machine, found(keys.user)) == [.established])
    _ = machine.disconnected()
    #expect(types(machine.connected()) == [PDU.Login.type, PDU.SearchByKey.type])
  }

  @Test func hasNoPushes() throws {
    var machine = try established()
    #expect(
      machine.submit(1, .push(nil)) == [.complete(1, .failure(.service(.noSuchType)))])
  }

  @Test func signsItsLoginAndTellsItsHead() throws {
    let head = id(message(1))
    var machine = try machine(head: head) { $0.history = 7 }
    guard case .send(.version1(.login(let login), let data))? = machine.connected().first else {
      Issue.record("no login")
      return
    }
    #expect(login.user == keys.user && login.max == 7 && login.head == head && data.isEmpty)
    #expect(keys.authentication.publicKey.verifies(login.signature, over: keys.user))
  }

  @Test func theHeadIsTheLastMessageThatCame() throws {
    var machine = try established()
    for time in 1...3 { _ = receive(&machine, message(UInt64(time)), [9]) }
    _ = receive(&machine, .truncate(PDU.Truncate(message: id(message(2), [9]))))
    _ = machine.disconnected()
    guard case .send(.version1(.login(let login), _))? = machine.connected().first else {
      Issue.record("no login")
      return
    }
    #expect(login.head == id(message(3), [9]))
  }

  @Test func requestsWaitForTheLoginAndEndInOrder() throws {
    var machine = try machine()
    #expect(machine.submit(1, .search(.key(other))) == [])
    _ = machine.connected()
    #expect(machine.submit(2, .search(.key(keys.user))) == [])
    #expect(
      receive(&machine, found(keys.user)) == [
        .established, .send(.version1(search(other), data: [])),
        .send(.version1(search(keys.user), data: [])),
      ])
    // The stream comes in between.
    #expect(receive(&machine, message(5)).count == 1)
    #expect(
      receive(&machine, .user(.nobody)) == [.complete(1, .success(.users([], next: .init())))])
    guard case .user(let user) = found(keys.user) else { return }
    let users = [try #require(DeviceUser(user))]
    #expect(
      receive(&machine, .user(user)) == [.complete(2, .success(.users(users, next: .init())))])
  }

  @Test func collectsUsersUntilTheLast() throws {
    var machine = try established()
    _ = machine.submit(1, .search(.key(other)))
    #expect(receive(&machine, found(other, count: 2)) == [])
    #expect(receive(&machine, found(keys.user, count: 1)) == [])
    let last = receive(&machine, found(other))
    guard case .complete(1, .success(.users(let users, _)))? = last.first else {
      Issue.record("\(last)")
      return
    }
    #expect(users.map(\.key) == [other, keys.user, other])
  }

  @Test func whatMayBeRepeatedIsAndTheRestFails() throws {
    var machine = try established()
    let header = PDU.Message(time: 1, recipient: other, to: other, from: keys.user)
    let sent = PDU.message(header)
    _ = machine.submit(1, .send(OutgoingMessage(header, box: [1])))
    _ = machine.submit(2, .file(.write([2]), keys.user, Filename(.editors)))
    _ = machine.submit(3, .search(.key(other)))
    machine.abandon(3)
    #expect(machine.disconnected() == [.complete(2, .failure(.interrupted))])
    // This is asked meanwhile, and goes behind the repeated ones.
    #expect(
      machine.submit(4, .search(.key(keys.user))) == [])
    _ = machine.connected()
    #expect(
      receive(&machine, found(keys.user)) == [
        .established, .send(.version1(sent, data: [1])), .send(.version1(search(other), data: [])),
        .send(.version1(search(keys.user), data: [])),
      ])
    #expect(machine.stopped(.closed).count == 2 || !machine.isEstablished)
  }

  @Test func anAbandonedRequestKeepsItsPlace() throws {
    var machine = try established()
    _ = machine.submit(1, .search(.key(other)))
    _ = machine.submit(2, .search(.key(other)))
    machine.abandon(1)
    #expect(receive(&machine, found(other)) == [])
    let second = receive(&machine, .user(.nobody))
    #expect(second == [.complete(2, .success(.users([], next: .init())))])
  }

  @Test func truncations() throws {
    var machine = try established()
    let mine = id(message(1))
    let request = DeviceRequest.truncate(mine)
    let echo = PDU.truncate(PDU.Truncate(message: mine))
    _ = machine.submit(1, request)
    #expect(receive(&machine, echo) == [])
    #expect(receive(&machine, found(keys.user)) == [.complete(1, .success(.done))])
    // Another device's truncation is a part of the stream.
    let cursor = machine.cursor
    #expect(receive(&machine, echo) == [.deliver(.truncation(mine, cursor: cursor))])
    _ = machine.submit(2, request)
    #expect(receive(&machine, found(keys.user)) == [.complete(2, .failure(.unknownMessage))])
  }

  @Test func repliesThatWereNotAskedForEndTheConnection() throws {
    var machine = try established()
    #expect(receive(&machine, found(other)) == [.disconnect])
    _ = machine.submit(1, .vouch(other, isTakenBack: true))
    #expect(receive(&machine, found(keys.user)) == [.disconnect])
    machine = try established()
    _ = machine.submit(1, .file(.read, other, Filename(.author)))
    #expect(
      receive(&machine, .lock(PDU.Lock(directory: other, filename: Filename(.author).bytes)))
        == [.disconnect])
    machine = try established()
    _ = machine.submit(1, .search(.key(other)))
    _ = receive(&machine, found(other, count: 5))
    #expect(receive(&machine, found(other, count: 5)) == [.disconnect])
    // A login under a key that nobody has.
    var fresh = try self.machine()
    _ = fresh.connected()
    #expect(receive(&fresh, .user(.nobody)) == [.disconnect])
  }

  @Test func whatNoServiceSendsIsIgnored() throws {
    var machine = try established()
    #expect(receive(&machine, .pause(PDU.Pause())) == [])
    #expect(receive(&machine, search(other)) == [])
    let foreign = PDU.message(PDU.Message(time: 1, recipient: other, to: other, from: other))
    #expect(receive(&machine, foreign) == [])
  }

  @Test func aSlowAppLetsTheServicePause() throws {
    var machine = try established { $0.streamBuffer = 1000 }
    let data = [UInt8](repeating: 0, count: 300)
    var entries: [DeviceEntry] = []
    var pauses = 0
    for time in 0..<40 {
      for action in receive(&machine, message(UInt64(time)), data) {
        switch action {
        case .deliver(let entry): entries.append(entry)
        case .send(.version1(.pause, _)): pauses += 1
        default: Issue.record("\(action)")
        }
      }
    }
    #expect(pauses == 1 && entries.count == 40)
    // The service didn't listen.
    let wasOverfull = machine.isOverfull
    #expect(wasOverfull)
    let resumes = entries.map { machine.consumed($0) }.joined()
    #expect(Array(resumes) == [.send(.version1(.resume(PDU.Resume())))])
    let isOverfull = machine.isOverfull
    #expect(!isOverfull)
  }

  @Test func aPauseThatTheAppWantsSurvivesAReconnection() throws {
    var machine = try established()
    #expect(machine.setPaused(true) == [.send(.version1(.pause(PDU.Pause())))])
    #expect(machine.setPaused(true) == [])
    _ = machine.disconnected()
    #expect(types(machine.connected()) == [PDU.Login.type, PDU.Pause.type, PDU.SearchByKey.type])
    #expect(machine.setPaused(false) == [.send(.version1(.resume(PDU.Resume())))])
  }

  @Test func aPauseLastsAsLongAsOneOfItsReasons() throws {
    var machine = try established { $0.streamBuffer = 1000 }
    let data = [UInt8](repeating: 0, count: 2000)
    let pause = DeviceMachine.Action.send(.version1(.pause(PDU.Pause())))
    let resume = DeviceMachine.Action.send(.version1(.resume(PDU.Resume())))
    let actions = receive(&machine, message(1), data)
    guard case .deliver(let entry)? = actions.first else {
      Issue.record("\(actions)")
      return
    }
    #expect(actions.last == pause)
    #expect(machine.setPaused(true) == [])
    #expect(machine.consumed(entry) == [])
    #expect(machine.setPaused(false) == [resume])
    #expect(machine.setPaused(true) == [pause])
    _ = receive(&machine, message(2), data)
    #expect(machine.setPaused(false) == [])
    #expect(machine.consumed(entry) == [resume])
  }

  @Test func aLoginThatBreaksEndsNoRequest() throws {
    var machine = try machine()
    let lock = PDU.lock(PDU.Lock(directory: other, filename: Filename(.author).bytes))
    _ = machine.submit(
      1, .file(.lock, other, Filename(.author)))
    _ = machine.connected()
    #expect(machine.disconnected() == [])
    _ = machine.connected()
    #expect(
      receive(&machine, found(keys.user)) == [.established, .send(.version1(lock))])
    #expect(machine.stopped(.closed) == [.complete(1, .failure(.interrupted))])
    #expect(machine.stopped(.closed) == [])
  }

  @Test func aRequestThatWasNotSentFailsWithTheDevice() throws {
    var machine = try machine()
    _ = machine.submit(1, .search(.key(other)))
    _ = machine.submit(2, .search(.key(other)))
    machine.abandon(1)
    #expect(machine.stopped(.refused) == [.complete(2, .failure(.refused))])
  }

  @Test func leavesForAnotherPlace() throws {
    var machine = try machine()
    _ = machine.connected()
    let redirect = try #require(PDU.Redirect(uri: "wss://elsewhere/"))
    #expect(receive(&machine, .redirect(redirect)) == [.redirect("wss://elsewhere/")])
  }

  @Test func doesNotSendMoreThanItsWindow() throws {
    var machine = try established()
    let request = DeviceRequest.search(.key(other))
    let sent = (1...50).map { machine.submit(UInt64($0), request).count }.reduce(0, +)
    #expect(sent == 32)
    #expect(receive(&machine, found(other)).count == 2)
  }

  @Test func waitsLongerEachTime() {
    var options = DeviceOptions()
    options.retryDelay = .seconds(1)
    options.longestRetryDelay = .seconds(10)
    var backoff = Backoff(options)
    #expect(
      (0..<6).map { _ in backoff.next { $0.upperBound } }
        == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
    #expect(backoff.next { $0.lowerBound } == .seconds(5))
    backoff.reset()
    #expect(backoff.next { $0.upperBound } == .seconds(1))
  }
}
