internal import Platform
internal import XMLSecurity

/// Validates documents in child processes, which the kernel ends if a document takes too much CPU time.
///
/// A process is started when a document comes and none is idle. It serves one document at a time, and is replaced after
/// some hundreds, so that whatever libxml2 might lose is given back.
final class SchemaWorkers: SchemaCheck {
  /// The reason of a finding about a document that was stopped.
  static let tooMuchWork = "its check against the schema takes too much work"

  private static let jobLimit = 500

  private let program: String
  private let schemas: String
  private let cpuTime: Duration
  private let idle = Lock<[SchemaWorker]>([])

  /// Makes the workers without starting a process.
  ///
  /// - Parameters:
  ///   - program: the path of awd.
  ///   - schemas: the folder of the schemas.
  ///   - cpuTime: the CPU time for one document.
  init(program: String, schemas: String, cpuTime: Duration) {
    (self.program, self.schemas, self.cpuTime) = (program, schemas, cpuTime)
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
