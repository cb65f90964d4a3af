internal import Cryptography
internal import Glibc

/// Measures how long another device of a user takes to get all messages that wait for it.
///
/// The time runs from the connection to the last message. Each round's device sees the mailbox for the first time.
///
/// - Parameters:
///   - port: the server's port.
///   - server: the server's process.
///   - count: the number of messages, of 1 KB.
func measureLogin(port: UInt16, server: Int, messages count: Int) throws {
  let service = try Apptimist(port: port)
  let loop = LoadLoop()
  let user = UserKeys()
  let first = try service.device(of: user, to: user.key)
  let senders = try (0..<10).map { _ in try service.device(of: UserKeys(), to: user.key) }
  try service.wait(for: [first] + senders, on: loop)
  var arrived = 0
  first.arrived = { _ in arrived += 1 }
  var payload = Payload(count: 1024)
  let batch = 100
  for start in stride(from: 0, to: count, by: batch) {
    for number in start..<min(start + batch, count) {
      senders[number % senders.count].send(payload.next())
    }
    try loop.run { arrived == min(start + batch, count) }
  }
  var times: [Double] = []
  var costs: [Double] = []
  for _ in 0..<5 {
    let before = processorTime(of: server)
    let start = nanoseconds()
    let device = try ApptimistClient(
      port: port, identity: service.identity, user: user, recipient: user.key, registers: false)
    var received = 0
    device.arrived = { _ in received += 1 }
    loop.add(device)
    try loop.run { received == count }
    times.append(Double(nanoseconds() - start) / 1e6)
    costs.append((processorTime(of: server) - before) / Double(count) * 1e6)
    loop.remove(device)
    close(device.descriptor)
  }
  times.sort()
  costs.sort()
  print(
    """
    {"messages": \(count), "median": \(times[2]), "least": \(times[0]), "most": \(times[4]), \
    "cost": \(costs[2])}
    """)
}
