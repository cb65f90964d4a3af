internal import Foundation
internal import Synchronization

/// A folder for one test, removed with all that is in it when the last reference goes.
package final class TemporaryFolder: Sendable {
  /// The folder's absolute path.
  package let path: String

  /// Makes a folder.
  ///
  /// - Parameter files: the text of each file to write, by its path in the folder.
  package init(_ files: [String: String] = [:]) {
    path = "\(RunFolder.path)/\(RunFolder.count.add(1, ordering: .relaxed).newValue)"
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      for (name, text) in files { try write(name, text) }
    } catch {
      preconditionFailure("no temporary folder \(path): \(error)")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file, making the folders above it.
  ///
  /// - Parameters:
  ///   - name: the file's path in the folder.
  ///   - bytes: the whole content.
  /// - Returns: the file's absolute path.
  @discardableResult
  package func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    let url = URL(filePath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    return url.path
  }

  /// Writes a file of text, making the folders above it.
  ///
  /// - Parameters:
  ///   - name: the file's path in the folder.
  ///   - text: the whole content.
  /// - Returns: the file's absolute path.
  @discardableResult
  package func write(_ name: String, _ text: String) throws -> String {
    try write(name, Array(text.utf8))
  }

  /// Reads a file.
  ///
  /// - Parameter name: the file's path in the folder.
  /// - Returns: the whole content.
  package func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
  }
}

/// The folder that holds every temporary folder of this process.
///
/// It goes when the process exits, with what static fixtures and killed children leave in it; a process that crashed leaves
/// its folder to the next run.
enum RunFolder {
  static let count = Atomic<Int>(0)

  static let path: String = {
    let base = ProcessInfo.processInfo.environment["TMPDIR"].map {
      $0.hasSuffix("/") ? String($0.dropLast()) : $0
    }
    let folder = base ?? "/tmp"
    removeLeftovers(in: folder)
    atexit { try? FileManager.default.removeItem(atPath: RunFolder.path) }
    return "\(folder)/\(prefix)\(getpid())"
  }()

  private static let prefix = "awd-tests-"

  private static func removeLeftovers(in folder: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      guard name.hasPrefix(prefix), let process = pid_t(name.dropFirst(prefix.count)),
        kill(process, 0) != 0, errno == ESRCH
      else { continue }
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
  }
}
