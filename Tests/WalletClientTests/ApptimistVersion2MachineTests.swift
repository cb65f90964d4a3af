internal import ApptimistProtocol
internal import Cryptography
internal import Testing

@testable import WalletClient

/// The device's decisions in version 2, without a socket.
@Suite struct ApptimistVersion2MachineTests {
  private let keys = DeviceKeys.generate()
  private let other = DeviceKeys.generate().user
  private let service = ServiceIdentity(encryption: .generate(), authentication: .generate())
  private let node = EncryptionKeyPair.generate()
  private let handshake: Version2.Handshake

  init() {
    handshake = Version2.Handshake(
      with: service, device: EncryptionKeyPair.generate().publicKey, service: node.publicKey,
      offer: .version2)
  }

  private let hello = Version2.Hello(time: 0, headerMax: 4_096, dataMax: 100, pageMax: 10)

  private func machine(
    account: NewAccount? = nil, cursor: DeviceCursor = DeviceCursor(),
    _ configure: (inout DeviceOptions) -> Void = { _ in }
  ) throws -> DeviceMachine {
    var options = DeviceOptions()
    configure(&options)
    let participant = try #require(Participant(keys, at: service))
    return DeviceMachine(participant, account: account, cursor: cursor, options)
  }

  private func established(
    _ start: Version2.Start? = nil, cursor: DeviceCursor = DeviceCursor()
  ) throws -> DeviceMachine {
    var machine = try machine(cursor: cursor)
    _ = machine.greeted(handshake, hello)
    #expect(answer(&machine, 1, to: 1, .login(start ?? self.start())).first == .established)
    return machine
  }

  private func start(
    epoch: UInt64 = 9, first: UInt64 = 1, _ start: UInt64 = 0, flags: Version2.Flags = []
  ) -> Version2.Start {
    Version2.Start(epoch: epoch, first: first, last: 50, start: start, flags: flags)
  }

  private func answer(
    _ machine: inout DeviceMachine, _ type: UInt8, to request: UInt32,
    _ content: Version2.Answer.Content
  ) -> [DeviceMachine.Action] {
    machine.received(
      .answer(Version2.Answer(to: type, request: request, .success(content))), data: [])
  }

  private func refuse(
    _ machine: inout DeviceMachine, _ type: UInt8, to request: UInt32, _ code: ErrorCode
  ) -> [DeviceMachine.Action] {
    machine.received(
      .answer(Version2.Answer(to: type, request: request, .failure(code))), data: [])
  }

  private func stream(
    _ machine: inout DeviceMachine, _ time: UInt64, at position: UInt64,
    recipient: EncryptionPublicKey? = nil, _ data: [UInt8] = [1]
  ) -> [DeviceMachine.Action] {
    let recipient = recipient ?? keys.user
    let message = PDU.Message(time: time, recipient: recipient, to: recipient, from: other)
    return machine.received(.message(message, at: position), data: data[...])
  }

  private func sent(_ actions: [DeviceMachine.Action]) -> [Version2.DevicePDU] {
    actions.compactMap { if case .send(.version2(let pdu, _)) = $0 { pdu } else { nil } }
  }

  private func login(_ machine: inout DeviceMachine) throws -> Version2.Login {
    let pdus = sent(machine.greeted(handshake, hello))
    guard case .login(let login)? = pdus.last?.body else {
      throw DeviceError.refused
    }
    return login
  }

  @Test func provesItsKeys() throws {
    let account = try #require(NewAccount(name: "Ann", uid: "u", token: "t"))
    var machine = try machine(account: account)
    let actions = machine.greeted(handshake, hello)
    guard case .send(.version2(let first, let token))? = actions.first,
      case .new(let new) = first.body, case .login(let login)? = sent(actions).last?.body
    else {
      Issue.record("\(actions)")
      return
    }
    #expect(token == Array("t".utf8) && new.flags == .closed && new.uid.bytes == Array("u".utf8))
    let signed = handshake.new(keys.user, keys.authentication.publicKey)
    #expect(keys.authentication.publicKey.verifies(new.signature, over: signed))
    #expect(handshake.verifies(new.possession, of: keys.user, with: node))
    #expect(
      keys.authentication.publicKey.verifies(login.signature, over: handshake.login(keys.user)))
    #expect(handshake.verifies(login.possession, of: keys.user, with: node))
    #expect(login.flags == [] && login.after == Version2.Login.acknowledged)
    // Both are answered, in order.
    #expect(answer(&machine, 3, to: 1, .done) == [])
    #expect(answer(&machine, 1, to: 2, .login(start())) == [.established])
    _ = machine.disconnected()
    #expect(sent(machine.greeted(handshake, hello)).count == 1)
  }

  @Test func aRefusalIsFinalUnlessItIsTrouble() throws {
    var machine = try machine(account: NewAccount(name: "Ann"))
    _ = machine.greeted(handshake, hello)
    #expect(refuse(&machine, 3, to: 1, .internalError) == [.disconnect])
    _ = machine.greeted(handshake, hello)
    #expect(refuse(&machine, 3, to: 1, .keyTaken) == [.refuse(.accountRefused(.keyTaken))])
    _ = machine.greeted(handshake, hello)
    // A login that is answered before `new`.
    #expect(answer(&machine, 1, to: 1, .login(start())) == [.disconnect])
  }

  @Test func goesOnAtItsPlace() throws {
    let cursor = DeviceCursor(head: MessageID(header: [1], data: []))
    var machine = try machine(cursor: cursor) { $0.closesVersion1 = true }
    let first = try login(&machine)
    #expect(first.head == cursor.head && first.after == Version2.Login.acknowledged)
    #expect(first.device == cursor.installation && first.flags == .closed)
    #expect(
      answer(&machine, 1, to: 1, .login(start(3, flags: .closed)))
        == [.established, .recordClosed(keys.user)])
    guard case .deliver(.message(let message))? = stream(&machine, 1, at: 5).last else {
      Issue.record("nothing came")
      return
    }
    let machineCursor = machine.cursor
    #expect(message.cursor.position == 5 && message.cursor.epoch == 9)
    #expect(message.cursor.head == message.id && message.cursor == machineCursor)
    _ = machine.disconnected()
    let second = try login(&machine)
    #expect(second.epoch == 9 && second.after == 5)
    // The same cursor, read from where the app keeps it.
    var again = try self.machine(cursor: try #require(DeviceCursor(text: message.cursor.text)))
    let third = try login(&again)
    #expect(third.epoch == 9 && third.after == 5 && third.device == cursor.installation)
  }

  @Test func passesOverWhatCameBeforeAndWhatIsAnothers() throws {
    var machine = try established()
    #expect(stream(&machine, 1, at: 1).count == 1)
    #expect(stream(&machine, 1, at: 2) == [])
    #expect(stream(&machine, 2, at: 3, recipient: other) == [])
    #expect(machine.cursor.position == 3)
    #expect(stream(&machine, 3, at: 3) == [.disconnect])
    #expect(stream(&machine, 3, at: 1) == [.disconnect])
    // The whole queue comes again in another epoch.
    _ = machine.disconnected()
    _ = machine.greeted(handshake, hello)
    _ = answer(&machine, 1, to: 1, .login(start(epoch: 10)))
    #expect(stream(&machine, 1, at: 1) == [])
    #expect(stream(&machine, 4, at: 2).count == 1)
    #expect(machine.cursor.epoch == 10)
  }

  @Test func tellsOfAGap() throws {
    var cursor = DeviceCursor()
    (cursor.epoch, cursor.position) = (9, 4)
    var machine = try machine(cursor: cursor)
    _ = machine.greeted(handshake, hello)
    guard
      case .deliver(.gap(let gap))? = answer(
        &machine, 1, to: 1, .login(start(first: 8, 4))
      ).last
    else {
      Issue.record("no gap")
      return
    }
    #expect(gap == cursor)
    _ = machine.disconnected()
    _ = machine.greeted(handshake, hello)
    #expect(answer(&machine, 1, to: 1, .login(start(first: 5, 4))) == [.established])
  }

  @Test func remembersWhoSeals() throws {
    var machine = try established()
    let sealed: [UInt8] = Array("apptim".utf8) + [2, 1]
    #expect(stream(&machine, 1, at: 1, sealed).first == .recordSealed(other))
    // A message for one user that names another.
    let message = PDU.Message(time: 2, recipient: keys.user, to: other, from: other)
    #expect(machine.received(.message(message, at: 2), data: sealed[...]) == [])
  }

  @Test func repeatsWhatHasNoAnswer() throws {
    var machine = try established()
    let message = OutgoingMessage(
      PDU.Message(time: 1, recipient: other, to: other, from: keys.user), box: [1, 2])
    let first = machine.submit(1, .send(message))
    _ = machine.submit(2, .file(.write([3]), keys.user, Filename(.editors)))
    #expect(machine.disconnected() == [.complete(2, .failure(.interrupted))])
    _ = machine.greeted(handshake, hello)
    let again = answer(&machine, 1, to: 1, .login(start()))
    #expect(again == [.established] + first)
    #expect(
      answer(&machine, 5, to: 2, .placed(isKnown: true, position: 0))
        == [.complete(1, .success(.done))])
  }

  @Test func whatItQueuedItselfIsNotNew() throws {
    var machine = try established()
    let header = PDU.Message(time: 1, recipient: keys.user, to: keys.user, from: keys.user)
    _ = machine.submit(1, .send(OutgoingMessage(header, box: [1])))
    _ = answer(&machine, 5, to: 2, .placed(isKnown: false, position: 1))
    _ = machine.disconnected()
    _ = machine.greeted(handshake, hello)
    _ = answer(&machine, 1, to: 1, .login(start()))
    #expect(machine.received(.message(header, at: 1), data: [1]) == [])
    #expect(machine.cursor.position == 1)
  }

  /// A push address is bound, again after a reconnection; a service without pushes says so.
  @Test func bindsAPushAddress() throws {
    let binding = Version2.PushBinding(
      .fcm, [UInt8](repeating: 65, count: 40), isChosen: true, keys: [other])
    var machine = try established()
    let actions = machine.submit(1, .push(binding))
    guard case .send(.version2(let pdu, let data))? = actions.first else {
      throw DeviceError.refused
    }
    #expect(pdu.body == .push(Version2.Push(binding)))
    #expect(data == binding.address + other.bytes)
    _ = machine.disconnected()
    _ = machine.greeted(handshake, hello)
    #expect(sent(answer(&machine, 1, to: 1, .login(start()))).last?.body == pdu.body)
    #expect(answer(&machine, 21, to: 2, .done) == [.complete(1, .success(.done))])
    #expect(sent(machine.submit(2, .push(nil))).last?.body == .push(Version2.Push(nil)))
    #expect(
      refuse(&machine, 21, to: 3, .noSuchType)
        == [.complete(2, .failure(.service(.noSuchType)))])
  }

  @Test func answersOutOfTurnEndTheConnection() throws {
    var machine = try established()
    #expect(answer(&machine, 7, to: 2, .done) == [.disconnect])
    _ = machine.submit(1, .deleteForum(other))
    _ = machine.submit(2, .vouch(other, isTakenBack: false))
    #expect(answer(&machine, 9, to: 3, .done) == [.disconnect])
    #expect(answer(&machine, 5, to: 2, .placed(isKnown: true, position: 1)) == [.disconnect])
    #expect(machine.received(.hello(hello), data: []) == [.disconnect])
    // Both wait for the next connection.
    #expect(machine.stopped(.closed).count == 2)
  }

  private static let errors: [(ErrorCode, DeviceError)] = [
    (.notFound, .unknownUser), (.internalError, .service(.internalError)),
    (.notPermitted, .service(.notPermitted)), (.overQuota, .service(.overQuota)),
  ]

  @Test(arguments: errors) func errorsOfMessages(_ code: ErrorCode, _ error: DeviceError) throws {
    var machine = try established()
    let header = PDU.Message(time: 1, recipient: other, to: other, from: keys.user)
    _ = machine.submit(1, .send(OutgoingMessage(header, box: [1])))
    #expect(refuse(&machine, 5, to: 2, code) == [.complete(1, .failure(error))])
  }

  @Test func whatIsTooLongIsNotSent() throws {
    var machine = try established()
    let content = [UInt8](repeating: 0, count: 101)
    #expect(
      machine.submit(1, .file(.write(content), keys.user, Filename(.editors)))
        == [.complete(1, .failure(.unsendable))])
    #expect(
      sent(machine.submit(2, .file(.write(content.dropLast()), keys.user, Filename(.editors))))
        .count == 1)
  }

  @Test func acknowledgesWhatWasStored() throws {
    var machine = try established()
    _ = stream(&machine, 1, at: 4)
    let ack = Version2.DevicePDU(request: 0, .ack(Version2.Ack(position: 4)))
    let cursor = machine.cursor
    var later = cursor
    #expect(machine.stored(cursor) == [.send(.version2(ack))])
    later.position = 5
    #expect(machine.stored(later) == [])
    later.epoch = 1
    #expect(machine.stored(later) == [])
    _ = machine.disconnected()
    #expect(machine.stored(cursor) == [])
  }

  @Test func pausesWithoutAnAnswer() throws {
    var machine = try established()
    let pause = DeviceMachine.Action.send(.version2(Version2.DevicePDU(request: 0, .pause)))
    #expect(machine.setPaused(true) == [pause])
    _ = machine.disconnected()
    #expect(machine.greeted(handshake, hello).last == pause)
  }
}
