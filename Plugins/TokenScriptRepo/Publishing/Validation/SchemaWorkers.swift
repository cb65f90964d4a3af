internal import CSpawn
internal import Formats
internal import FoundationEssentials
internal import Glibc
internal import Platform
internal import ServiceKit
internal import Synchronization
internal import XMLSecurity

/// Validates documents in child processes, which the kernel ends if a document takes too much CPU time.
///
/// A process is started when a document comes and none is idle. It serves one document at a time, and is replaced after
/// some hundreds, so that memory that libxml2 may leak is returned.
final class SchemaWorkers: SchemaCheck {
  /// The reason of a finding about a document that was stopped.
  static let tooMuchWork = "its check against the schema takes too much work"

  private static let jobLimit = 500

  private let program: String
  private let schemas: String
  private let cpuTime: Duration
  private let idle = Lock<[SchemaWorker]>([])

  /// Makes the workers without starting a process.
  init(program: String, schemas: String, cpuTime: Duration) {
    self.program = program
    self.schemas = schemas
    self.cpuTime = cpuTime
  }

  /// Checks a document in a child process.
  func finding(
    for document: XMLDocument, of bytes: [UInt8], _ version: SchemaVersion
  ) -> TokenScriptFile.Finding {
    let job = SchemaJob(version: version, document: bytes)
    // A process that was idle may have been ended by somebody else.
    if let worker = idle.withLock({ $0.popLast() }) {
      do throws(SchemaWorker.Failure) { return try validate(job, by: worker) } catch {
        if error == .overran { return overrun }
      }
    }
    let worker: SchemaWorker
    do { worker = try SchemaWorker(program: program, schemas: schemas, cpuTime: cpuTime) } catch {
      return unchecked("no process can be started: \(error)")
    }
    do throws(SchemaWorker.Failure) { return try validate(job, by: worker) } catch {
      switch error {
      case .overran: return overrun
      case .stalled: return unchecked("its process does not answer")
      case .ended(signal: 0, let code): return unchecked("its process ended with code \(code)")
      case .ended(signal: 9, _): return unchecked("its process was killed")
      case .ended(let signal, _):
        return .failed(
          FileRefusal(reason: Self.tooMuchWork, detail: "its process ended by signal \(signal)"))
      }
    }
  }

  /// Ends the processes that have nothing to do; others are started when they are needed.
  func rest() { _ = idle.withLock { exchange(&$0, with: []) } }

  private func validate(
    _ job: SchemaJob, by worker: SchemaWorker
  ) throws(SchemaWorker.Failure) -> TokenScriptFile.Finding {
    let finding = try worker.validate(job)
    if worker.jobs < Self.jobLimit { idle.withLock { $0.append(worker) } }
    return finding
  }

  /// The finding about a document that was stopped; it holds for the same bytes at any later time.
  private var overrun: TokenScriptFile.Finding {
    .failed(
      FileRefusal(
        reason: Self.tooMuchWork,
        detail:
          "it was stopped after \(cpuTime) of CPU time; simplify the long values in the file, "
          + "or raise schema_cpu_time"))
  }

  private func unchecked(_ detail: String) -> TokenScriptFile.Finding {
    .failed(
      FileRefusal(
        reason: "it could not be checked against the schema", detail: detail, isTransient: true))
  }
}

/// A child process that validates documents, one after another.
final class SchemaWorker: Sendable {
  /// The reason why the check has no result.
  enum Failure: Error, Equatable {
    /// The document exceeded its CPU time.
    case overran
    /// The process ended by a signal, or with an exit code.
    case ended(signal: CInt, code: CInt)
    /// The process neither answered nor ended for long.
    case stalled
  }

  private let process: pid_t
  private let channel: SchemaChannel
  private let storedJobs = Atomic<Int>(0)
  private let isReaped = Atomic<Bool>(false)

  /// Starts a process, with no descriptor but its end of a socket, and an empty environment.
  ///
  /// - Throws: ``SystemError`` if there is no room for a process.
  init(program: String, schemas: String, cpuTime: Duration) throws(SystemError) {
    let milliseconds = max(1, cpuTime / .milliseconds(1))
    var ends: [CInt] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError(errno) }
    let nowhere = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    defer {
      close(ends[1])
      if nowhere >= 0 { close(nowhere) }
    }
    let words = [
      program, "repo", "schema-worker", "--schemas", schemas, "--milliseconds",
      "\(Int(milliseconds))",
    ]
    var process: pid_t = 0
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = unsafe [nil]
    let error = unsafe spawn_child(
      &process, program, &arguments, &environment, nil, [ends[1], nowhere, nowhere])
    unsafe arguments.forEach { unsafe free($0) }
    guard error == 0 else {
      close(ends[0])
      throw SystemError(error)
    }
    // A process that the kernel doesn't let run is given up at last.
    var patience = timeval(tv_sec: Int(milliseconds) / 100 + 10, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    unsafe setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    unsafe setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    self.process = process
    channel = SchemaChannel(descriptor: ends[0])
  }

  deinit {
    close(channel.descriptor)
    if !isReaped.load(ordering: .relaxed) { _ = end() }
  }

  /// The number of documents that it was given.
  var jobs: Int { storedJobs.load(ordering: .relaxed) }

  /// Validates a document; only one thread at a time may call this. After an error the process is over.
  func validate(_ job: SchemaJob) throws(Failure) -> TokenScriptFile.Finding {
    storedJobs.add(1, ordering: .relaxed)
    do throws(SystemError) {
      try channel.send(job.frame)
      if let frame = try channel.receive(limit: 1 << 16),
        let finding = TokenScriptFile.Finding(frame: frame, job.version)
      {
        return finding
      }
    } catch let error where error.code == EAGAIN {
      _ = end()
      throw .stalled
    } catch {}
    // A process that has closed its socket keeps the status that it ends with; one that has sent nonsense doesn't end by
    // itself.
    let status = end()
    guard status & 0x7F != SIGPROF else { throw .overran }
    throw .ended(signal: status & 0x7F, code: status >> 8 & 0xFF)
  }

  /// Ends the process, and returns its status.
  private func end() -> CInt {
    isReaped.store(true, ordering: .relaxed)
    kill(process, SIGKILL)
    var status: CInt = 0
    while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
    return status
  }
}

/// The conversation with a process that validates documents, over a socket: frames of a length and that many bytes.
struct SchemaChannel: Sendable {
  /// The largest frame: a document of the largest size with its version.
  static let limit = (8 << 20) + 64

  /// The socket, which the channel doesn't own.
  let descriptor: CInt

  /// Sends a frame.
  ///
  /// - Throws: ``SystemError``.
  func send(_ frame: [UInt8]) throws(SystemError) {
    var writer = ByteWriter(capacity: frame.count + 4)
    writer.write(UInt32(frame.count))
    writer.write(frame)
    var rest = writer.bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SystemError(errno) }
      rest = rest.dropFirst(count)
    }
  }

  /// Waits for a frame.
  ///
  /// - Returns: the frame, or nil if the other side has ended, or sent too much.
  /// - Throws: ``SystemError``; `EAGAIN` if the socket's timeout is over.
  func receive(limit: Int = SchemaChannel.limit) throws(SystemError) -> [UInt8]? {
    guard let head = try bytes(4) else { return nil }
    let length = head.reduce(0) { $0 << 8 | Int($1) }
    return length <= limit ? try bytes(length) : nil
  }

  private func bytes(_ count: Int) throws(SystemError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return unsafe recv(descriptor, rest.baseAddress, rest.count, 0)
      }
      if got < 0 && errno == EINTR { continue }
      guard got >= 0 else { throw SystemError(errno) }
      if got == 0 { return nil }
      filled += got
    }
    return bytes
  }
}

/// A document to validate, as a frame: the version, seven bytes such as `2020/03`, and the bytes.
struct SchemaJob {
  let version: SchemaVersion
  let document: [UInt8]

  /// The frame.
  var frame: [UInt8] { Array(version.path.utf8) + document }
}

extension SchemaJob {
  /// Reads a frame, or returns nil if it is none.
  init?(frame: [UInt8]) {
    guard let version = SchemaVersion(String(decoding: frame.prefix(7), as: UTF8.self)) else {
      return nil
    }
    self.init(version: version, document: Array(frame.dropFirst(7)))
  }
}

extension TokenScriptFile.Finding {
  /// The finding of a check that was made, as a frame: one byte, and the problems as text.
  func frame(_ version: SchemaVersion) -> [UInt8] {
    switch self {
    case .passed, .unchecked: [0]
    case .failed where self == .missingSchema(version): [1]
    case .failed(let refusal): [2] + Array(refusal.detail.utf8)
    }
  }

  /// Reads a frame, or returns nil if it is none.
  init?(frame: [UInt8], _ version: SchemaVersion) {
    switch frame.first {
    case 0: self = .passed
    case 1: self = .missingSchema(version)
    case 2: self = .invalid(String(decoding: frame.dropFirst(), as: UTF8.self))
    default: return nil
    }
  }
}

/// `awd repo schema-worker`: validates the documents that the server sends over standard input, which is a socket.
///
/// libxml2 can't be stopped, so the work is done in a process that the kernel can stop. The process has no descriptor of the
/// server's but the socket, none of its environment, and opens nothing but the schemas. It gives way to others
/// as the thread does that started it.
struct SchemaWorkerCommand: Command {
  static let name = "repo schema-worker"
  static let summary = "Validate documents for a server (started by it)"
  static let isHidden = true
  static let parameters: [CommandParameter] = [
    .option("schemas", value: "FOLDER", "the folder of the schemas"),
    .option("milliseconds", value: "N", "the CPU time for one document"),
  ]

  /// The memory for a document beyond what the process has at its start.
  private static let memory: UInt = 512 << 20

  static func run(_ context: CommandContext) async throws {
    guard let folder = context.arguments["schemas"],
      let milliseconds = context.arguments["milliseconds"].flatMap({ Int($0) }), milliseconds > 0
    else { throw CommandError.usage("--schemas and --milliseconds are missing") }
    limitMemory()
    // A process that is started for one document compiles no more than that one's schema.
    var schemas: [SchemaVersion: SchemaValidator] = [:]
    let channel = SchemaChannel(descriptor: STDIN_FILENO)
    while let frame = try channel.receive() {
      guard let job = SchemaJob(frame: frame) else { return }
      let validator =
        try schemas[job.version] ?? SchemaValidator(folder: folder, version: job.version.path)
      schemas[job.version] = validator
      setTimer(milliseconds: milliseconds)
      let finding = finding(job, validator)
      setTimer(milliseconds: 0)
      try channel.send(finding.frame(job.version))
    }
  }

  private static func finding(
    _ job: SchemaJob, _ validator: SchemaValidator
  ) -> TokenScriptFile.Finding {
    guard let document = try? XMLDocument(parsing: job.document) else {
      return .invalid("not well-formed XML")
    }
    return validator.finding(for: document, of: job.document, job.version)
  }

  /// Lets the kernel end the process by SIGPROF after some more CPU time; 0 stops the timer.
  private static func setTimer(milliseconds: Int) {
    var timer = itimerval()
    timer.it_value = timeval(tv_sec: milliseconds / 1000, tv_usec: (milliseconds % 1000) * 1000)
    _ = unsafe setitimer(CInt(ITIMER_PROF.rawValue), &timer, nil)
  }

  private static func limitMemory() {
    // The first number is the address space in pages.
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
      let pages = text.split(separator: " ").first.flatMap({ UInt($0) })
    else { return }
    let most = pages * UInt(sysconf(Int32(_SC_PAGESIZE))) + memory
    var limit = rlimit(rlim_cur: most, rlim_max: most)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    // A process that is stopped leaves no image of its memory.
    limit = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }
}

/// A check of documents against the schemas of their versions.
protocol SchemaCheck: Sendable {
  /// Checks a document.
  ///
  /// - Parameters:
  ///   - bytes: the bytes that it was read from.
  /// - Returns: whether the schema allows the document.
  func finding(
    for document: XMLDocument, of bytes: [UInt8], _ version: SchemaVersion
  ) -> TokenScriptFile.Finding
}

extension SchemaValidator: SchemaCheck {
  /// Checks a document in this process, however long it takes.
  func finding(
    for document: XMLDocument, of bytes: [UInt8], _ version: SchemaVersion
  ) -> TokenScriptFile.Finding {
    switch validate(document, version: version.path) {
    case .valid: .passed
    case .noSchema: .missingSchema(version)
    case .invalid(let problems):
      .invalid(problems.prefix(5).map { "\($0)" }.joined(separator: "; "))
    }
  }
}

extension TokenScriptFile.Finding {
  /// The finding without a schema of the version.
  static func missingSchema(_ version: SchemaVersion) -> Self {
    .failed(FileRefusal(reason: "there is no schema for its namespace", detail: version.path))
  }

  /// The finding for a document that the schema doesn't allow.
  static func invalid(_ problems: String) -> Self {
    .failed(FileRefusal(reason: "the schema does not allow it", detail: problems))
  }
}
