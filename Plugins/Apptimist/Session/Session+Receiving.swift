internal import ApptimistProtocol
internal import Cryptography

// What devices send.
extension Session {
  mutating func receive(_ bytes: [UInt8]) {
    let frame: Frame
    do throws(FrameError) {
      frame = try Frame(bytes, limits: setup.limits.frame)
    } catch {
      return close(error == .overLimit ? 1009 : 1002)
    }
    guard let header = try? channel.open(frame) else { return refuse() }
    let data = [UInt8](frame.eData)
    if phase == .open {
      ask(.claim, .first(header: header, data: data))
    } else {
      handle(header, data)
      endIfWornOut()
    }
  }

  mutating func handle(_ header: [UInt8], _ data: [UInt8]) {
    let pdu: PDU
    do throws(PDUError) {
      pdu = try PDU(decoding: header)
    } catch {
      if case .unknownType = error { return setup.note(.unknownType) }
      return refuse()
    }
    setup.note(.received(type: header[1]))
    switch phase {
    case .joining: join(pdu)
    case .established: takeInTurn(Received(pdu: pdu, header: header, data: data))
    case .open, .left, .refused, .closed: break
    }
  }

  /// Handles a PDU of a user, or puts it behind the posts that are being queued.
  mutating func takeInTurn(_ received: Received) {
    guard let account else { return }
    guard request != nil else { return handle(received, of: account) }
    if case .message(let message) = received.pdu, message.from == account.key,
      gathered.add(Post(message: message, received), setup.limits)
    {
      return
    }
    postponed = received
  }

  /// Goes on with what came while posts were being queued.
  mutating func goOn() {
    guard request == nil, phase == .established || phase == .left, let account else { return }
    if !gathered.isEmpty {
      ask(gathered.take())
    } else if let received = postponed {
      postponed = nil
      handle(received, of: account)
    }
  }

  /// Takes a PDU before the login.
  mutating func join(_ pdu: PDU) {
    switch pdu {
    case .new(let new):
      // Under another form of a user's key a stranger could have the service box known text for that
      // user, whose other files the same nonce protects.
      guard let name = AccountName(new.name), let uid = new.uid.text, isFit(new.key),
        new.key.isCanonical, !new.authenticationKey.isLowOrder,
        registered == nil || registered?.key == new.key
      else { return refuse() }
      ask(.register(new, name: name, uid: uid), .new(new))
    case .login(let login):
      self.login = login
      ask(.account(login.user), .login)
    default: noteStray(pdu)
    }
  }

  /// Whether a user or a forum can have a key. A forum's needs no more: it can't log in, and only who
  /// gives the service its secret has anything boxed with it.
  func isFit(_ key: EncryptionPublicKey) -> Bool {
    !key.isLowOrder && key != setup.keys.identity.encryptionKey && key != setup.ephemeralKey
  }

  func noteStray(_ pdu: PDU) {
    switch pdu {
    case .redirect, .user: setup.note(.unknownType)
    case .vouchers(let vouchers) where !vouchers.vouchers.isEmpty: setup.note(.unknownType)
    default: break
    }
  }

  /// Takes a PDU of a user.
  mutating func handle(_ received: Received, of account: Account) {
    let user = account.key
    switch received.pdu {
    case .login: break
    case .redirect, .user: noteStray(received.pdu)
    case .new(let new):
      guard let name = AccountName(new.name), isFit(new.key) else { return }
      ask(.makeForum(new, name: name, author: user))
    case .del(let del): ask(.deleteForum(del.key, by: user))
    case .message(let message):
      guard message.from == user else { return }
      ask([Post(message: message, received)])
    case .truncate(let truncate):
      ask(.truncate(truncate.message, user: user), .truncate(truncate.message))
    case .pause: stream?.pause()
    case .resume: stream?.resume()
    case .vouch(let vouch):
      guard vouch.subject != user else { return }
      if vouch.signature.isZero {
        ask(.revoke(for: vouch.subject, by: user))
      } else if account.authenticationKey.verifies(vouch.signature, over: vouch.subject) {
        ask(.vouch(for: vouch.subject, by: user))
      }
    case .vouchers(let vouchers):
      guard vouchers.vouchers.isEmpty else { return noteStray(received.pdu) }
      ask(.vouchers(of: vouchers.subject), .vouchers(of: vouchers.subject))
    case .searchByName(let search):
      ask(.searchName(search.name, max: Int(search.maxUsers)), .search)
    case .searchByUid(let search):
      ask(.searchUid(search.uid, max: Int(search.maxUsers)), .search)
    case .searchByKey(let search): ask(.searchKey(search.key), .search)
    case .read(let read): ask(.file(request(.read, read, user)), .read(read))
    case .lock(let lock): ask(.file(request(.lock, lock, user)), .lock(lock))
    case .remove(let remove): ask(.file(request(.remove, remove, user)), .remove(remove))
    case .write(let write):
      let content = fileKey(of: user)?.open(received.data, nonce: setup.keys.identity.dataNonce)
      ask(.file(request(.write(content), write, user)), .write(write))
    }
  }

  func request(
    _ act: FileRequest.Act, _ pdu: some PDU.FileRequest, _ user: EncryptionPublicKey
  ) -> FileRequest {
    FileRequest(act: act, directory: pdu.directory, filename: pdu.filename, user: user)
  }

  mutating func ask(_ posts: [Post]) { ask(.post(posts), .posts(posts.map(\.message))) }

  mutating func ask(_ question: Question, _ request: Request = .other) {
    self.request = request
    actions.append(.ask(question))
  }
}
