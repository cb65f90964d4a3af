internal import Foundation
internal import TestSupport
internal import Testing

/// The built program and its unit, from systemd's side.
@Suite(.ownThreads) struct SystemdTests {
  /// A socket like the service manager's.
  private final class Manager {
    let name: String
    private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

    /// - Parameter name: a path, or `@` and a name in the abstract name space.
    init(_ name: String) throws {
      self.name = name
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
      try #require(result == 0)
      var limit = timeval(tv_sec: 30, tv_usec: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Waits for the next message, or nil if none comes.
    func next() -> String? {
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Waits for the next message that is no sign of life.
    func nextChange() -> String? {
      while let message = next() {
        if message != "WATCHDOG=1" { return message }
      }
      return nil
    }
  }

  @Test(arguments: [false, true])
  func isToldHowTheDaemonFares(isAbstract: Bool) throws {
    let folder = TemporaryFolder(["awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\n"])
    let manager = try Manager(
      isAbstract ? "@awd-\(UUID().uuidString)" : "\(folder.path)/notify.socket")
    let process = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path,
      environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "300000"])

    let ready = try #require(manager.nextChange())
    #expect(ready.hasPrefix("READY=1\nSTATUS=tokenscript"))
    #expect(manager.next() == "WATCHDOG=1" && manager.next() == "WATCHDOG=1")

    process.signal(SIGHUP)
    let reloading = try #require(manager.nextChange())
    #expect(reloading.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[0-9]+/) != nil)
    #expect(manager.nextChange() == ready)

    process.signal(SIGTERM)
    #expect(manager.nextChange()?.hasPrefix("STOPPING=1\n") == true)
    #expect(try process.ended() == .exited(0))
  }

  private static func unit(_ name: String) throws -> String {
    let config = URL(filePath: #filePath).appending(path: "../../../config").standardized
    return try String(contentsOf: config.appending(path: name), encoding: .utf8)
  }

  /// Otherwise a backup is made of another store than the one that is served.
  @Test func theBackupHasTheVariablesOfTheService() throws {
    for name in ["awd.service", "awd-backup.service"] {
      let lines = try Self.unit(name).split(separator: "\n")
      #expect(lines.contains("EnvironmentFile=-/etc/awd/awd.env"), "\(name)")
    }
  }

  @Test func theNightlyBackupRemovesWhatIsOldAndItsOwn() throws {
    let folder = TemporaryFolder([
      "awd-1.backup": "", "awd-2.backup": "", "awd-2.backup.77.part": "",
      "awd-3.backup.78.part-journal": "", "awd-4.backup.79.part": "", "other": "",
    ])
    for (name, days) in [
      ("awd-1.backup", 20), ("awd-2.backup", 3), ("awd-2.backup.77.part", 3),
      ("awd-3.backup.78.part-journal", 3), ("other", 20),
    ] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: Double(-86_400 * days))],
        ofItemAtPath: "\(folder.path)/\(name)")
    }
    let key = "ExecStartPost="
    let line = try #require(
      try Self.unit("awd-backup.service").split(separator: "\n").first { $0.hasPrefix(key) })
    let words = line.dropFirst(key.count).split(separator: " ").map {
      $0 == "/var/backups/awd" ? folder.path : String($0)
    }
    let outcome = try ChildProcess.run(words[0], Array(words.dropFirst()))
    #expect(outcome.code == 0, "\(outcome)")
    #expect(
      try Set(FileManager.default.contentsOfDirectory(atPath: folder.path))
        == ["awd-2.backup", "awd-4.backup.79.part", "other"])
  }

  @Test func theUnitIsValidAndHardened() throws {
    let unit = try Self.unit("awd.service")
    // The program isn't installed here.
    let folder = TemporaryFolder([
      "awd.service": unit.replacing("/usr/bin/awd", with: "/bin/true")
    ])
    func analyze(_ words: String...) throws -> ChildProcess.Outcome {
      try ChildProcess.run("systemd-analyze", words + ["\(folder.path)/awd.service"])
    }
    let verified = try analyze("verify", "--man=no")
    #expect(verified.code == 0, "\(verified)")
    #expect(!(verified.output + verified.errors).contains("awd.service:"), "\(verified)")
    #expect(try analyze("security", "--offline=true", "--threshold=20").code == 0)
  }
}
