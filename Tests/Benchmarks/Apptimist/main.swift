// The load generator of apptimist_benchmark.py, which says what is measured. It has one thread.
//
//     apptimist-benchmark pairs SERVER PORT PROCESS PAIRS WINDOW SECONDS
//     apptimist-benchmark fanout SERVER PORT PROCESS SUBSCRIBERS WINDOW SECONDS
//     apptimist-benchmark limit
//     apptimist-benchmark idle SERVER PORT PROCESS DEVICES
//     apptimist-benchmark stuck PORT PROCESS MESSAGES
//     apptimist-benchmark sessions PORT PROCESS SESSIONS
//     apptimist-benchmark login PORT PROCESS MESSAGES
//
// PORT is PORT,PORT for pairs who are at two nodes. PROCESS is PROCESS,PROCESS where PostgreSQL's time is measured too, by its
// first process. SERVER is apptimist, apptimist-2 (version 2 of the protocol), mqtt, nats (one stream for all pairs) or
// nats-streams (a stream for each pair). With "-ephemeral" behind them the last two have ephemeral consumers in place of
// durable ones.
internal import Glibc

signal(SIGPIPE, SIG_IGN)
let arguments = Array(CommandLine.arguments.dropFirst())

func number(_ index: Int) throws -> Int {
  guard index < arguments.count, let number = Int(arguments[index]) else {
    throw LoadError("argument \(index) is not a number")
  }
  return number
}

func processes() throws -> MeasuredProcesses {
  let numbers = arguments[3].split(separator: ",").compactMap { Int($0) }
  guard let server = numbers.first else { throw LoadError("argument 3 is not a number") }
  return MeasuredProcesses(server: server, database: numbers.dropFirst().first)
}

func broker() throws -> any Broker {
  let ports = arguments[2].split(separator: ",").compactMap { UInt16($0) }
  guard let port = ports.first else { throw LoadError("there is no port") }
  switch arguments[1] {
  case "apptimist": return try Apptimist(port: port, receivers: ports.last)
  case "apptimist-2": return try ApptimistVersion2(port: port)
  case "mqtt": return MQTT(port: port)
  case "nats": return NATS(port: port)
  case "nats-ephemeral": return NATS(port: port, isDurable: false)
  case "nats-streams": return NATS(port: port, streamPerPair: true)
  case "nats-streams-ephemeral": return NATS(port: port, streamPerPair: true, isDurable: false)
  default: throw LoadError("no such server: \(arguments[1])")
  }
}

do {
  switch arguments.first {
  case "pairs":
    let outcome = try measurePairs(
      broker(), count: number(4), window: number(5), seconds: Double(number(6)),
      processes: processes())
    print(outcome.line)
  case "fanout":
    let outcome = try measureFanOut(
      broker(), count: number(4), window: number(5), seconds: Double(number(6)),
      processes: processes())
    print(outcome.line)
  case "limit":
    let limit = try await Limit.measure()
    print(
      """
      {"boxes": \(limit.boxes * 1e6), "row": \(limit.row * 1e6), "sockets": \(limit.sockets * 1e6), \
      "rate": \(limit.rate)}
      """)
  case "idle":
    try measureIdle(broker(), server: number(3), devices: number(4))
  case "stuck":
    try measureStuckReader(
      port: UInt16(clamping: number(1)), server: number(2), messages: number(3))
  case "sessions":
    try measureSessions(
      port: UInt16(clamping: number(1)), server: number(2), sessions: number(3))
  case "login":
    try measureLogin(port: UInt16(clamping: number(1)), server: number(2), messages: number(3))
  default: throw LoadError("usage: see main.swift")
  }
} catch {
  let message = "apptimist-benchmark: \(error)\n"
  write(2, message, message.utf8.count)
  exit(1)
}
