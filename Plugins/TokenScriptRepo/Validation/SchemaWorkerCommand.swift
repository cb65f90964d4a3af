internal import CSpawn
internal import FoundationEssentials
internal import Glibc
internal import ServiceKit
internal import XMLSecurity

/// `awd repo schema-worker`: validates the documents that the server sends over standard input, which is a socket.
///
/// libxml2 can't be told to stop, so it does this where the kernel stops it. The process has no descriptor of the
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
