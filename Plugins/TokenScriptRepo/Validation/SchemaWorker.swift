internal import CSpawn
internal import Glibc
internal import Synchronization
internal import Platform

/// A child process that validates documents, one after another.
final class SchemaWorker: Sendable {
  /// The reason why there is no verdict.
  enum Failure: Error, Equatable {
    /// The document took more than its CPU time.
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
  /// - Parameters:
  ///   - program: the path of awd.
  ///   - schemas: the folder of the schemas.
  ///   - cpuTime: the CPU time for one document.
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
