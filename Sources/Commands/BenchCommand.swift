internal import HTTPClient
internal import HTTPProtocol
internal import ServiceKit

/// `awd bench`: measures how fast a server answers a request that is repeated.
struct BenchCommand: Command {
  static let name = "bench"
  static let summary = "Measure how fast a server answers requests for a URL"
  static let parameters: [CommandParameter] = [
    .option("connections", value: "N", "the number of concurrent requests; 8 by default"),
    .option("seconds", value: "N", "the duration; 5 by default"),
    .json, .operand("URL", "the URL, such as http://127.0.0.1:8080/healthz"),
  ]

  /// The measurements of one connection, or of all.
  private struct Sample {
    var durations: [Duration] = []
    var failures = 0
    var problem: String?

    mutating func add(_ other: Sample) {
      durations += other.durations
      failures += other.failures
      problem = problem ?? other.problem
    }
  }

  /// The printed result.
  private struct Report: Encodable {
    let requests: Int
    /// The number of requests without a response, or with a status of 400 or more.
    let failures: Int
    let seconds: Double
    let perSecond: Double
    let medianMilliseconds, p99Milliseconds, longestMilliseconds: Double

    init(_ sample: Sample, took: Duration) {
      let sorted = sample.durations.sorted()
      func milliseconds(at share: Double) -> Double {
        let duration = sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        return (duration / .microseconds(1)).rounded() / 1000
      }
      requests = sorted.count + sample.failures
      failures = sample.failures
      seconds = took / .seconds(1)
      perSecond = Double(sorted.count) / seconds
      medianMilliseconds = milliseconds(at: 0.5)
      p99Milliseconds = milliseconds(at: 0.99)
      longestMilliseconds = milliseconds(at: 1)
    }
  }

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let connections = try number("connections", in: 1...1000, arguments) ?? 8
    let time = Duration.seconds(try number("seconds", in: 1...3600, arguments) ?? 5)
    let request = OutgoingRequest(.get, arguments.operands[0])
    var options = HTTPClientOptions()
    options.connectionsPerHost = connections
    options.bodyLimit = 16 << 20
    let client = try WebClient(options)

    let start = ContinuousClock.now
    let sample = try await withThrowingTaskGroup(of: Sample.self) { group in
      for _ in 0..<connections {
        group.addTask { try await measure(request, by: client, until: start + time) }
      }
      return try await group.reduce(into: Sample()) { $0.add($1) }
    }
    guard !sample.durations.isEmpty else {
      throw CommandError.refused(sample.problem ?? "every response was an error")
    }
    let report = Report(sample, took: ContinuousClock.now - start)
    try context.print(json: report) {
      context.print("requests    \(report.requests), failed \(report.failures)")
      context.print("per second  \(Int(report.perSecond))")
      context.print(
        "answered in \(report.medianMilliseconds) ms (half), \(report.p99Milliseconds) ms (99 %), "
          + "\(report.longestMilliseconds) ms (all)")
    }
  }

  private static func number(
    _ option: String, in range: ClosedRange<Int>, _ arguments: CommandArguments
  ) throws(CommandError) -> Int? {
    guard let text = arguments[option] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .usage("--\(option): expected a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Sends one request after the other until the time is over or the server can't be reached.
  private static func measure(
    _ request: OutgoingRequest, by client: WebClient, until end: ContinuousClock.Instant
  ) async throws -> Sample {
    var sample = Sample()
    repeat {
      let start = ContinuousClock.now
      do throws(HTTPClientError) {
        let response = try await client.send(request)
        if response.status.code < 400 {
          sample.durations.append(ContinuousClock.now - start)
        } else {
          sample.failures += 1
          sample.problem = "answered with \(response.status.code)"
        }
      } catch {
        switch error.code {
        case .cancelled: throw CancellationError()
        case .invalidRequest: throw CommandError.usage("URL: \(error)")
        default:
          sample.failures += 1
          sample.problem = "\(error)"
          return sample
        }
      }
    } while ContinuousClock.now < end
    return sample
  }
}
