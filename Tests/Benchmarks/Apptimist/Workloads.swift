internal import Glibc

/// The result of a measurement.
struct Outcome {
  /// The number of messages that arrived per second.
  let rate: Double
  /// The times from sending to arrival, or of a fan-out to the last arrival.
  var times: Samples
  /// The server's CPU time for each message that arrived, in microseconds.
  let cost: Double
  /// The same of its database, if that was measured.
  let databaseCost: Double

  /// The result as one line of JSON.
  var line: String {
    var times = times
    let (middle, late) = (times.quantile(0.5), times.quantile(0.99))
    return """
      {"rate": \(rate), "p50": \(middle), "p99": \(late), "cost": \(cost), \
      "database": \(databaseCost), "samples": \(times.count)}
      """
  }
}

/// Returns the CPU time that a process has used, in seconds.
func processorTime(of process: Int) -> Double {
  guard let file = fopen("/proc/\(process)/stat", "r") else { return 0 }
  defer { fclose(file) }
  var text = [CChar](repeating: 0, count: 2048)
  fgets(&text, Int32(text.count), file)
  let line = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
  guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
    return 0
  }
  return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
}

/// The processes whose CPU time is measured.
struct MeasuredProcesses {
  let server: Int
  /// PostgreSQL's first process, whose children serve the connections.
  var database: Int?

  /// The CPU time that they have used, in seconds.
  var times: (server: Double, database: Double) {
    (processorTime(of: server), children.reduce(0) { $0 + processorTime(of: $1) })
  }

  private var children: [Int] {
    guard let database, let file = fopen("/proc/\(database)/task/\(database)/children", "r") else {
      return []
    }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 8192)
    fgets(&text, Int32(text.count), file)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      .split(separator: " ").compactMap { Int($0) }
  }
}

/// The data of messages: the time of sending, a number that makes it unique, and filling.
struct Payload {
  private var bytes: [UInt8]
  private var number: UInt64 = 0

  init(count: Int) { bytes = (0..<count).map { _ in UInt8.random(in: 0 ... .max) } }

  mutating func next() -> [UInt8] {
    number += 1
    let (now, number) = (nanoseconds(), self.number)
    bytes.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: now, as: UInt64.self)
      bytes.storeBytes(of: number, toByteOffset: 8, as: UInt64.self)
    }
    return bytes
  }

  /// Returns the number of a message.
  static func number(_ data: ArraySlice<UInt8>) -> UInt64 {
    data.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
  }

  /// Returns the time since a message was sent, in nanoseconds.
  static func age(_ data: ArraySlice<UInt8>) -> UInt64 {
    nanoseconds() - data.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
  }
}

/// Measures messages in pairs. A sender sends the next message when one has arrived.
///
/// - Parameters:
///   - broker: the server.
///   - count: the number of pairs.
///   - window: the number of messages of a pair that are on the way.
///   - seconds: the duration.
///   - processes: the processes whose CPU time is measured.
func measurePairs(
  _ broker: some Broker, count: Int, window: Int, seconds: Double, processes: MeasuredProcesses
) throws -> Outcome {
  let loop = LoadLoop()
  let pairs = try broker.pairs(count, on: loop)
  var payload = Payload(count: 1024)
  var times = Samples()
  var isMeasuring = false
  for pair in pairs {
    pair.receiver.arrived = { [unowned sender = pair.sender] data in
      if isMeasuring { times.add(Payload.age(data)) }
      sender.send(payload.next())
    }
    for _ in 0..<window { pair.sender.send(payload.next()) }
  }
  let warm = nanoseconds() + 500_000_000
  try loop.run { nanoseconds() > warm }
  isMeasuring = true
  let start = nanoseconds()
  let before = processes.times
  let end = start + UInt64(seconds * 1e9)
  try loop.run { nanoseconds() > end }
  isMeasuring = false
  let taken = Double(nanoseconds() - start) / 1e9
  let after = processes.times
  return Outcome(
    rate: Double(times.count) / taken, times: times,
    cost: (after.server - before.server) * 1e6 / Double(max(1, times.count)),
    databaseCost: (after.database - before.database) * 1e6 / Double(max(1, times.count)))
}

/// Measures messages to many receivers. The next is sent when all have received one.
///
/// - Parameters:
///   - broker: the server.
///   - count: the number of receivers.
///   - window: the number of messages that are on the way.
///   - seconds: the duration.
///   - processes: the processes whose CPU time is measured.
func measureFanOut(
  _ broker: some Broker, count: Int, window: Int, seconds: Double, processes: MeasuredProcesses
) throws -> Outcome {
  let loop = LoadLoop()
  let (sender, receivers) = try broker.audience(count, on: loop)
  var payload = Payload(count: 1024)
  var times = Samples()
  var isMeasuring = false
  var arrivals = 0
  /// The number of receivers that have each message on the way.
  var had: [UInt64: Int] = [:]
  func arrived(_ data: ArraySlice<UInt8>) {
    if isMeasuring { arrivals += 1 }
    let number = Payload.number(data)
    had[number, default: 0] += 1
    guard had[number] == count else { return }
    had[number] = nil
    if isMeasuring { times.add(Payload.age(data)) }
    sender.send(payload.next())
  }
  for receiver in receivers { receiver.arrived = arrived }
  for _ in 0..<window { sender.send(payload.next()) }
  let warm = nanoseconds() + 500_000_000
  try loop.run { nanoseconds() > warm }
  isMeasuring = true
  let start = nanoseconds()
  let before = processes.times
  let end = start + UInt64(seconds * 1e9)
  try loop.run { nanoseconds() > end }
  let taken = Double(nanoseconds() - start) / 1e9
  let after = processes.times
  return Outcome(
    rate: Double(arrivals) / taken, times: times,
    cost: (after.server - before.server) * 1e6 / Double(max(1, arrivals)),
    databaseCost: (after.database - before.database) * 1e6 / Double(max(1, arrivals)))
}
