internal import Cryptography
internal import Glibc

/// Returns the size of a process's own pages in KiB.
func privateMemory(of process: Int) -> Int {
  guard let file = fopen("/proc/\(process)/smaps_rollup", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  var sum = 0
  while fgets(&line, Int32(line.count), file) != nil {
    let text = String(
      decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let words = text.split(separator: " ")
    if ["Private_Clean:", "Private_Dirty:", "Swap:"].contains(words.first ?? "") {
      sum += words.count > 1 ? Int(words[1]) ?? 0 : 0
    }
  }
  return sum
}

/// Measures the server's memory for each logged-in device that does nothing.
///
/// - Parameters:
///   - broker: makes the devices.
///   - server: the server's process.
///   - count: the number of devices, more than 1,000.
func measureIdle(_ broker: any Broker, server: Int, devices count: Int) throws {
  let loop = LoadLoop()
  let batch = 250
  func connect() throws { _ = try broker.pairs(batch / 2, on: loop) }
  // The first devices make the server set up what it sets up once: caches, threads, the store's pages.
  for _ in 0..<4 { try connect() }
  let before = privateMemory(of: server)
  var connected = 4 * batch
  while connected < count {
    try connect()
    connected += batch
  }
  let settled = nanoseconds() + 3_000_000_000
  try loop.run { nanoseconds() > settled }
  let memory = privateMemory(of: server)
  let each = Double(memory - before) * 1024 / Double(connected - 4 * batch)
  print(
    """
    {"devices": \(connected), "memory": \(memory), "bytes_each": \(each)}
    """)
}

/// Measures the server's memory for a device that stops reading while messages arrive for it.
///
/// As many messages for an absent user are measured before, to tell what the store and the senders cost.
func measureStuckReader(port: UInt16, server: Int, messages count: Int) throws {
  let service = try Apptimist(port: port)
  let loop = LoadLoop()
  func send(to recipient: EncryptionPublicKey) throws -> (before: Int, most: Int) {
    let senders = try (0..<64).map { _ in try service.device(of: UserKeys(), to: recipient) }
    try service.wait(for: senders, on: loop)
    var payload = Payload(count: 1024)
    let before = privateMemory(of: server)
    var most = before
    for _ in 0..<(count / (64 * 50)) {
      for sender in senders {
        for _ in 0..<50 { sender.send(payload.next()) }
        // The answer comes behind its messages: they are in the mailbox then.
        sender.askWhetherReady()
      }
      try loop.run(within: 120) { senders.allSatisfy(\.isReady) }
      most = max(most, privateMemory(of: server))
    }
    return (before, most)
  }
  func reader(_ user: UserKeys) throws -> ApptimistClient {
    let device = try ApptimistClient(
      port: port, identity: service.identity, user: user, recipient: user.key, receiveBuffer: 4096)
    try service.wait(for: [device], on: loop)
    return device
  }
  let (absent, present) = (UserKeys(), UserKeys())
  let leaving = try reader(absent)
  loop.remove(leaving)
  close(leaving.descriptor)
  let without = try send(to: absent.key)
  let stuck = try reader(present)
  loop.remove(stuck)
  let with = try send(to: present.key)
  print(
    """
    {"messages": \(count), "without": \(without.most - without.before), \
    "with": \(with.most - with.before)}
    """)
}

/// Measures the delivery of messages to sessions of one user, who all receive each.
func measureSessions(port: UInt16, server: Int, sessions count: Int) throws {
  let service = try Apptimist(port: port)
  let loop = LoadLoop()
  let user = UserKeys()
  let sender = try service.device(of: UserKeys(), to: user.key)
  let sessions = try (0..<count).map { _ in try service.device(of: user, to: user.key) }
  try service.wait(for: [sender] + sessions, on: loop)
  var payload = Payload(count: 1024)
  var arrived = [Int](repeating: 0, count: count)
  for (index, session) in sessions.enumerated() {
    session.arrived = { _ in arrived[index] += 1 }
  }
  let start = nanoseconds()
  let messages = 1000
  for _ in 0..<messages { sender.send(payload.next()) }
  try loop.run { arrived.allSatisfy { $0 == messages } }
  let seconds = Double(nanoseconds() - start) / 1e9
  print(
    """
    {"sessions": \(count), "messages": \(messages), "delivered": \(Double(messages * count) / seconds)}
    """)
}
