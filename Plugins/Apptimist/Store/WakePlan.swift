internal import Platform
internal import Push
internal import Storage

/// The limits of wakes.
struct WakeLimits: Sendable {
  /// The time between two wakes of a device.
  var interval = Duration.seconds(10)
  /// The time for which a device with an open session may acknowledge before it is woken.
  var hold = Duration.seconds(15)
  /// The time for which a wake that isn't answered stands for later news too.
  var again = Duration.seconds(900)
  /// The most devices of a user that have an address.
  var devices = 16
  /// The time after which a device that hasn't shown itself has no address any more.
  var age = Duration.seconds(90 * 86_400)
}

/// A device that pushes wake, as it is when news come (page "Wakes").
struct SleepingDevice: Hashable {
  /// The news that the last wake was queued for, or zero if the device has shown itself that far.
  let woken: MailboxPosition
  /// The moment from which the last wake was due.
  let wokenAt: Timestamp
  /// True if a wake waits that isn't under way.
  let isWaiting: Bool
  /// True if a session of the device is open at any node.
  let isOpen: Bool

  /// Decides about a wake for news: one at most in a burst, and none too soon after another.
  ///
  /// - Returns: the moment from which it is due, or nil if there is to be none.
  func wake(at now: Timestamp, _ limits: WakeLimits) -> Timestamp? {
    // A moment further ahead was recorded before the clock was set back.
    let isInTime = wokenAt <= now + limits.hold + limits.interval
    let wokenAt = isInTime ? wokenAt : Timestamp(milliseconds: 0)
    guard !isWaiting, woken == .zero || now >= wokenAt + limits.again else { return nil }
    return max(isOpen ? now + limits.hold : now, wokenAt + limits.interval)
  }
}

/// The wakes for the messages of a batch: they follow from the messages and from the devices as they are, for both engines.
struct WakePlan {
  /// A message that its recipient hasn't sent.
  struct News {
    let user: AccountNumber
    let position: MailboxPosition
    /// The keys of whom the message is for and from, by which devices choose.
    let to: ArraySlice<UInt8>
    let from: ArraySlice<UInt8>

    init(of copy: MessageCopy, at position: MailboxPosition, for user: AccountNumber) {
      self.user = user
      self.position = position
      to = copy.header.dropFirst(42).prefix(32)
      from = copy.header.dropFirst(74).prefix(32)
    }
  }

  /// A device that has a push address.
  struct Device {
    let owner: AccountNumber
    let device: [UInt8]
    let state: SleepingDevice
    /// The outbox's name for the device.
    let outbox: [UInt8]
    let address: PushAddress
    let tag: [UInt8]
    let isChosen: Bool
    let keys: [UInt8]

    /// Reads a row of `apptimist_sleepers`.
    init(_ row: borrowing Row) throws {
      owner = try row[0]
      device = try row[1]
      state = SleepingDevice(
        woken: try row[2], wokenAt: try row[3], isWaiting: try row[4], isOpen: try row[5])
      outbox = try row[6]
      address = PushAddress(stored: try row[7], try row[8])
      tag = try row[9]
      isChosen = try row[10]
      keys = try row[11]
    }

    /// Returns whether the device wants to be woken for a message.
    func wants(_ news: News) -> Bool {
      guard news.user == owner else { return false }
      let isNamed = stride(from: 0, to: keys.count, by: 32).contains { start in
        let key = keys[start..<min(start + 32, keys.count)]
        return key.elementsEqual(news.to) || key.elementsEqual(news.from)
      }
      return isNamed == isChosen
    }
  }

  /// A wake that is queued.
  struct Wake {
    let device: Device
    /// The first and the last message that it is for.
    let first: MailboxPosition
    let last: MailboxPosition
    let due: Timestamp
  }

  /// A wake that waits already, and stands for later messages too.
  struct Renewal {
    let outbox: [UInt8]
    let position: MailboxPosition
  }

  private(set) var wakes: [Wake] = []
  private(set) var renewals: [Renewal] = []

  /// Decides about the wakes for messages, of which each user's stand in order.
  ///
  /// - Parameter kinds: the kinds of addresses that are served.
  init(
    _ news: [News], _ devices: [Device], kinds: Set<PushKind>, at now: Timestamp,
    _ limits: WakeLimits
  ) {
    for device in devices where kinds.contains(device.address.kind) {
      let wanted = news.filter(device.wants)
      guard let first = wanted.first, let last = wanted.last else { continue }
      if device.state.isWaiting {
        renewals.append(Renewal(outbox: device.outbox, position: last.position))
      } else if let due = device.state.wake(at: now, limits) {
        wakes.append(
          Wake(device: device, first: first.position, last: last.position, due: due))
      }
    }
  }
}
