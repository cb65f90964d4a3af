internal import ApptimistProtocol
internal import Cryptography

@testable import Apptimist

/// The reply to a query, as tests write it.
enum SessionReply {
  case claimed(Bool)
  case started(MailboxPosition)
  /// The positions in the sender's own mailbox of the posts that were delivered there.
  case posted([MailboxPosition])
  case truncated(Truncation)
  case vouchers([EncryptionPublicKey])
  case found([Version2.User])
  case file(FileReply)
  case outcomes([PostOutcome])
  case outcome(ErrorCode)
  case account(AccountCredentials?)
  case began(StreamStart?)
  case position(MailboxPosition)
  case voucherPage([Version2.Voucher], next: Version2.Cursor)
  case accountPage([Version2.User], next: Version2.Cursor)
  /// The query fails.
  case failed
}

extension Query {
  /// Fills in the reply; one of another kind is none.
  func fulfill(_ reply: SessionReply) {
    switch (self, reply) {
    case (.claim(_, let promise), .claimed(let isClaimed)): promise.fulfill(isClaimed)
    case (.account(_, let promise), .account(let account)): promise.fulfill(account)
    case (.start(_, let promise), .started(let position)): promise.fulfill(position)
    case (.start(_, let promise), .claimed(false)): promise.fulfill(nil)
    case (.post(_, let promise), .posted(let positions)):
      promise.fulfill(positions.map { .queued(isKnown: false, own: $0, isOwnNew: true) })
    case (.post(_, let promise), .outcomes(let outcomes)): promise.fulfill(outcomes)
    case (.truncate(_, let promise), .truncated(let truncation)): promise.fulfill(truncation)
    case (.vouchers(_, let promise), .vouchers(let keys)): promise.fulfill(keys)
    case (.find(_, let promise), .found(let users)): promise.fulfill(users)
    case (.file(_, let promise), .file(let reply)): promise.fulfill(reply)
    case (.begin(_, let promise), .began(let start)): promise.fulfill(start)
    case (.truncation(_, let promise), .position(let position)): promise.fulfill(position)
    case (.voucherPage(_, let promise), .voucherPage(let items, let next)):
      promise.fulfill(.success(ListPage(items: items, next: next)))
    case (.search(_, let promise), .accountPage(let items, let next)):
      promise.fulfill(.success(ListPage(items: items, next: next)))
    case (.register(_, let promise), .outcome(let code)),
      (.makeForum(_, let promise), .outcome(let code)),
      (.deleteForum(_, let promise), .outcome(let code)),
      (.vouch(_, _, let promise), .outcome(let code)),
      (.revoke(_, let promise), .outcome(let code)),
      (.acknowledge(_, _, _, let promise), .outcome(let code)),
      (.push(_, _, _, let promise), .outcome(let code)),
      (.exists(_, let promise), .outcome(let code)), (.leave(let promise), .outcome(let code)),
      (.join(_, let promise), .outcome(let code)):
      promise.fulfill(code)
    case (.voucherPage(_, let promise), .outcome(let code)): promise.fulfill(.failure(code))
    case (.search(_, let promise), .outcome(let code)): promise.fulfill(.failure(code))
    default: break
    }
  }
}
