internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import WalletClient

/// What an operator meets in the first week: commands in the wrong place, lost keys, backups, a database that is away.
@Suite(.timeLimit(.minutes(3))) struct OperatorWeekTests {
  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  // MARK: - Keys

  @Test func lostKeysAreNeverReplacedSilently() async throws {
    let site = try Site()
    let backup = "\(site.folder)/awd.backup"
    let keys = "\(site.data)/apptimist.keys"
    let identity = try await site.serving { _ in
      _ = try await site.device("Anna")
      let made = try await site.run("backup", backup)
      #expect(made.code == 0, "\(made)")
      return try await site.identity()
    }
    try FileManager.default.moveItem(atPath: keys, toPath: "\(site.folder)/kept.keys")
    for command in [["serve"], ["check"], ["keys", "new"]] {
      let refused = try await runAwd(
        command + ["--config", site.configuration], home: site.folder)
      let text = refused.output + refused.errors
      #expect(refused.code == 1 && text.contains("awd restore --keys"), "\(command): \(refused)")
      #expect(!exists(keys), "\(command)")
    }
    // A mistyped path is a lost file, too.
    try FileManager.default.moveItem(atPath: "\(site.folder)/kept.keys", toPath: keys)
    try site.configure(rest: #"keys = "aptimist.keys""#)
    let mistyped = try await site.run("serve")
    #expect(mistyped.code == 1 && mistyped.errors.contains("apptimist.keys"), "\(mistyped)")
    #expect(!exists("\(site.data)/aptimist.keys"))
    try site.configure()

    try FileManager.default.removeItem(atPath: keys)
    let checked = try await site.run("restore", "--check", "--keys", backup)
    #expect(checked.output.contains("the keys") && !checked.output.contains("the database"))
    let restored = try await site.run("restore", "--keys", backup)
    #expect(restored.code == 0 && restored.output.contains(keys), "\(restored)")
    try await site.serving { _ in
      let found = try await site.identity()
      #expect(found == identity)
    }

    // On purpose, when they are lost for good.
    try FileManager.default.removeItem(atPath: keys)
    let accepted = try await site.run("keys", "replace")
    #expect(accepted.code == 0 && accepted.output.contains("the next start makes new keys"))
    try await site.serving { _ in
      let found = try await site.identity()
      #expect(found != identity)
    }
  }

  @Test func aLostKeyOfPushesToBrowsersIsMadeAnewWithAWarning() async throws {
    let site = try Site()
    let key = "\(site.data)/msgr-web-push.pem"
    try await site.serving { _ in }
    let first = try Data(contentsOf: URL(filePath: key))
    try FileManager.default.removeItem(atPath: key)
    let checked = try await site.run("check")
    #expect(checked.output.contains("push.web.key: the file \(key) is gone"), "\(checked)")
    #expect(!exists(key))
    let renewing = try ChildProcess.awd(
      ["serve", "--config", site.configuration], home: site.folder)
    _ = try await renewing.line(with: "the key of pushes to browsers is gone")
    _ = try await renewing.line(with: "listening at=")
    renewing.signal(SIGTERM)
    #expect(try await renewing.outcome().code == 0)
    let second = try Data(contentsOf: URL(filePath: key))
    #expect(second != first)
    let served = try ChildProcess.awd(
      ["serve", "--config", site.configuration], home: site.folder)
    _ = try await served.line(with: "listening at=")
    served.signal(SIGTERM)
    let quiet = try await served.outcome()
    #expect(!quiet.errors.contains("the key of pushes to browsers is gone"), "\(quiet)")
    // Another key is a mistake: nobody but the operator knows which one is right.
    try first.write(to: URL(filePath: key))
    let other = try await site.run("serve")
    #expect(other.code == 1 && other.errors.contains("isn't the one"), "\(other)")
    // One that can't be seen isn't lost.
    try FileManager.default.removeItem(atPath: key)
    try FileManager.default.createSymbolicLink(atPath: key, withDestinationPath: key)
    let unseen = try await site.run("serve")
    #expect(unseen.code == 1 && unseen.errors.contains("can't be read"), "\(unseen)")
  }

  @Test func onlyKeysThatDifferAndCanBeUsedAreReplaced() async throws {
    let site = try Site()
    let keys = "\(site.data)/apptimist.keys"
    try await site.serving { _ in _ = try await site.device("Anna") }
    let same = try await site.run("keys", "replace")
    #expect(same.code == 0 && same.output.hasPrefix("nothing differs"), "\(same)")
    #expect(!same.output.contains("counts from now on"), "\(same)")
    let good = try Data(contentsOf: URL(filePath: keys))
    try Data("garbage\n".utf8).write(to: URL(filePath: keys))
    let refused = try await site.run("keys", "replace")
    #expect(refused.code == 1 && refused.errors.contains(keys), "\(refused)")
    #expect(refused.errors.contains("nothing is changed"), "\(refused)")
    // The store still depends on the good ones.
    try good.write(to: URL(filePath: keys))
    try await site.serving { _ in }

    try FileManager.default.removeItem(atPath: keys)
    #expect(try await site.run("keys", "replace").code == 0)
    try await site.serving { _ in }
    let unchanged = try await site.run("keys", "replace")
    #expect(unchanged.output.hasPrefix("nothing differs"), "\(unchanged)")
  }

  @Test func shownKeysHaveTheProofOfVersion2() async throws {
    let site = try Site()
    try await site.serving { _ in
      let shown = try await site.run("keys", "show", "--json")
      #expect(shown.output.contains("signature2"), "\(shown)")
    }
  }

  // MARK: - The right store

  @Test func onlyTheServerMakesAStore() async throws {
    let site = try Site()
    let folder = "\(site.folder)/.local"
    for words in [["user", "list"], ["invite", "new"], ["backup", "\(site.folder)/b"]] {
      let result = try await runAwd(words, home: site.folder)
      #expect(result.code == 1 && result.output.isEmpty, "\(words): \(result)")
      #expect(result.errors.contains("there is no store at \(folder)/state/awd/awd.sqlite3"))
      #expect(result.errors.contains("this is the development setting"))
    }
    #expect(!exists(folder) && !exists("\(site.folder)/b"))
    let refused = try await site.run("user", "list")
    #expect(refused.code == 1 && refused.errors.contains("there is no store at \(site.data)/"))
    #expect(!exists(site.data))
    try await site.serving { _ in
      let environment = ["AWD_CONFIG": site.configuration]
      let added = try await runAwd(
        ["user", "add", "anna"], home: site.folder, environment: environment, input: "a password\n")
      #expect(added.code == 0 && added.errors.isEmpty, "\(added)")
      let listed = try await runAwd(["user", "list"], home: site.folder, environment: environment)
      #expect(listed.output.hasPrefix("anna\t"))
    }
  }

  /// A file system that lost its blocks leaves an empty file where a store was.
  @Test(arguments: [0, 4096]) func aStoreThatWasCutOffIsNoNewOne(_ size: Int) async throws {
    let site = try Site()
    try await site.serving { _ in }
    let store = "\(site.data)/awd.sqlite3"
    try FileManager.default.removeItem(atPath: store)
    // SQLite's own empty database, or nothing at all.
    if size > 0 {
      let made = try await ChildProcess.run("sqlite3", [store, "PRAGMA user_version = 1"])
      try #require(made.code == 0, "\(made)")
    } else {
      try Data().write(to: URL(filePath: store))
    }
    try Data("log".utf8).write(to: URL(filePath: store + "-wal"))
    let backup = "\(site.folder)/awd.backup"
    for words in [["check"], ["backup", backup], ["user", "list"], ["serve"]] {
      let result = try await runAwd(words + ["--config", site.configuration], home: site.folder)
      let text = result.output + result.errors
      #expect(result.code == 1 && text.contains("is empty: it was cut off"), "\(words): \(result)")
      #expect(text.contains("awd restore FILE"), "\(words): \(result)")
      #expect(text.contains("-shm"), "\(words): \(result)")
    }
    #expect(!exists(backup))
    let left = try FileManager.default.attributesOfItem(atPath: store)[.size] as? Int
    #expect(left == size)
    // What is in the log may be all that is left.
    if size == 0 { #expect(exists(store + "-wal")) }
  }

  /// What root types leaves no file that the service can't open.
  @Test(.enabled(if: geteuid() == 0)) func rootWorksAsTheDatasOwner() async throws {
    let site = try Site()
    try await site.serving { _ in }
    let nobody = try #require(unsafe getpwnam("nobody"))
    let (user, group) = unsafe (nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    func give(_ path: String) throws {
      try FileManager.default.setAttributes(
        [.ownerAccountID: user, .groupOwnerAccountID: group], ofItemAtPath: path)
    }
    // The way to the folder must be open for nobody.
    chmod(site.folder, 0o755)
    try give(site.data)
    for name in try FileManager.default.subpathsOfDirectory(atPath: site.data) {
      try give("\(site.data)/\(name)")
    }
    let refused = try await site.run("serve")
    #expect(refused.code == 1 && refused.errors.contains("sudo -u nobody"), "\(refused)")
    // What root can read for the check, the service must be able to read, too.
    let secret = "\(site.folder)/secret"
    try Data("a secret".utf8).write(to: URL(filePath: secret))
    for (file, environment) in [
      (site.configuration, [:]), (secret, ["AWD_STORE_PASSWORD_FILE": secret]),
    ] {
      for mode: mode_t in [0o600, 0o644] {
        chmod(file, mode)
        let checked = try await runAwd(
          ["check", "--config", site.configuration], home: site.folder, environment: environment)
        #expect(
          checked.output.contains("wrong: user nobody may not read \(file): chgrp ")
            == (mode == 0o600), "\(checked)")
      }
    }
    let added = try await site.run("user", "add", "anna", input: "a password\n")
    #expect(added.code == 0, "\(added)")
    let backup = try await site.run("backup", "\(site.data)/mine.backup")
    #expect(backup.code == 0, "\(backup)")
    for name in try FileManager.default.subpathsOfDirectory(atPath: site.data) {
      let owner = try FileManager.default.attributesOfItem(atPath: "\(site.data)/\(name)")[
        .ownerAccountID]
      #expect((owner as? NSNumber)?.uint32Value == user, "\(name)")
    }
    let elsewhere = try await site.run("backup", "/root/awd.backup")
    #expect(elsewhere.code == 1 && elsewhere.errors.contains("awd backup - > FILE"), "\(elsewhere)")
  }

  /// A store that was copied by root into a folder of the service's.
  @Test(.enabled(if: geteuid() == 0)) func aStoreThatMayNotBeWrittenIsFound() async throws {
    let site = try Site()
    try await site.serving { _ in }
    let nobody = try #require(unsafe getpwnam("nobody"))
    let (user, group) = unsafe (nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    let store = "\(site.data)/awd.sqlite3"
    chmod(site.folder, 0o755)
    chmod(site.configuration, 0o644)
    for path in try [""] + FileManager.default.subpathsOfDirectory(atPath: site.data) {
      try FileManager.default.setAttributes(
        [.ownerAccountID: user, .groupOwnerAccountID: group], ofItemAtPath: "\(site.data)/\(path)")
    }
    chown(store, 0, 0)
    chmod(store, 0o644)
    let advice = "user nobody may not write \(store); as root: chown nobody \(store)"
    let checked = try await site.run("check")
    #expect(checked.code == 1 && checked.output.contains("wrong: \(advice)"), "\(checked)")
    let served = try await site.serve(as: user, group)
    #expect(served.code == 1 && served.errors.contains(advice), "\(served)")
  }

  /// It takes writes as before, but the next start begins with an empty store.
  @Test func aStoreThatIsMovedAwayIsNoticed() async throws {
    let site = try Site()
    try await site.serving { child in
      try FileManager.default.moveItem(atPath: site.data, toPath: site.data + ".moved")
      _ = try await child.line(with: "the store's file was moved or deleted")
      #expect(try await site.status(.get, "/readyz") == 503)
      try FileManager.default.moveItem(atPath: site.data + ".moved", toPath: site.data)
      _ = try await child.line(with: "the store's file is back in its place")
      #expect(try await site.status(.get, "/readyz") == 200)
    }
  }

  // MARK: - Passwords

  @Test func anInterruptedPromptLeavesTheTerminalAsItWas() async throws {
    let site = try Site()
    try await site.serving { _ in }
    let script = """
      import pty, signal, subprocess, sys, termios, time
      ours, theirs = pty.openpty()
      shows = lambda: bool(termios.tcgetattr(theirs)[3] & termios.ECHO)
      child = subprocess.Popen(sys.argv[1:], stdin=theirs, stdout=theirs, stderr=theirs)
      def wait(shown):
          end = time.monotonic() + 20
          while shows() != shown and time.monotonic() < end: time.sleep(0.01)
          print("shown" if shows() else "hidden")
      wait(False)
      child.send_signal(signal.SIGTSTP)
      wait(True)
      child.send_signal(signal.SIGCONT)
      wait(False)
      child.send_signal(signal.SIGINT)
      print(child.wait(20))
      print("shown" if shows() else "hidden")
      """
    let outcome = try await ChildProcess.run(
      "python3",
      [
        "-c", script, try ChildProcess.built("awd"), "user", "add", "anna", "--config",
        site.configuration,
      ], home: site.folder)
    #expect(outcome.output == "hidden\nshown\nhidden\n-2\nshown\n", "\(outcome)")
  }

  /// A second line is no part of the password, and whoever wrote it means something else than awd would do.
  @Test func aPasswordIsTheOnlyLine() async throws {
    let site = try Site()
    let file = "\(site.folder)/password"
    try await site.serving { _ in
      try Data("a password\nanother\n".utf8).write(to: URL(filePath: file))
      for command in ["add", "password"] {
        let ofFile = try await site.run("user", command, "anna", "--password-file", file)
        #expect(
          ofFile.code == 1 && ofFile.errors.contains("\(file) has more than one line"), "\(ofFile)")
        let piped = try await site.run("user", command, "anna", input: "a password\na password\n")
        #expect(
          piped.code == 1 && piped.errors.contains("standard input has more than one line"),
          "\(piped)")
      }
      let folder = try await site.run("user", "add", "anna", "--password-file", site.folder)
      #expect(
        folder.code == 1
          && folder.errors.contains("can't be read from \(site.folder): Is a directory"))
      // What another process writes, which comes later than the command begins to read.
      let slow = try await ChildProcess.run(
        "/bin/bash",
        [
          "-c", #""$0" user add bert --password-file <(sleep 0.3; echo a password) --config "$1""#,
          try ChildProcess.built("awd"), site.configuration,
        ], home: site.folder)
      #expect(slow.code == 0, "\(slow)")
      try Data("a password\n".utf8).write(to: URL(filePath: file))
      #expect(try await site.run("user", "add", "anna", "--password-file", file).code == 0)
      #expect(try await site.run("user", "password", "anna", input: "another one\n\n").code == 0)
      // A terminal in Latin-1.
      try Data([UInt8]("pass".utf8) + [0xe4] + [UInt8]("word\n".utf8)).write(
        to: URL(filePath: file))
      let latin = try await site.run("user", "password", "anna", "--password-file", file)
      #expect(latin.code == 1 && latin.errors.contains("is not in UTF-8"), "\(latin)")
    }
  }

  // MARK: - Backups

  @Test func aBackupGoesToStandardOutputAndHoldsNoEarlierOne() async throws {
    let site = try Site()
    try await site.serving { _ in
      let first = try await site.run("backup", "\(site.data)/first.backup")
      #expect(first.code == 0, "\(first)")
      let second = try await site.run("backup", "\(site.data)/second.backup")
      #expect(second.code == 0 && !second.output.contains("first.backup"), "\(second)")
      let piped = try await ChildProcess.run(
        "/bin/sh",
        [
          "-c", #""$0" backup - --config "$1" > "$2""#, try ChildProcess.built("awd"),
          site.configuration, "\(site.folder)/piped.backup",
        ], home: site.folder)
      #expect(piped.code == 0 && piped.errors.contains("the store"), "\(piped)")
      let checked = try await site.run("restore", "--check", "\(site.folder)/piped.backup")
      #expect(checked.code == 0 && checked.output.contains("The backup is whole"), "\(checked)")
      #expect(checked.output.contains("in the way") && checked.output.contains("install -d"))
      #expect(checked.output.contains("\nThe backup is good. To restore it here, first stop"))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: site.data)
          .allSatisfy { !$0.hasSuffix(".tmp") })
      let folder = try await site.run("backup", site.folder)
      #expect(folder.code == 1 && folder.errors.contains("is a folder; name a file in it"))
      // A disk that isn't mounted isn't replaced by a folder.
      let unmounted = try await site.run("backup", "\(site.folder)/disk/awd.backup")
      #expect(unmounted.code == 1 && unmounted.errors.contains("there is no folder"))
      #expect(!exists("\(site.folder)/disk"))
      let metrics = try await site.get("/metrics")
      #expect(metrics.contains("awd_backup_last_timestamp_seconds 1"))
      #expect(metrics.contains("awd_disk_free_bytes "))
    }
  }

  /// The copy that standard output gets lies in the data folder for a while.
  @Test func aPipedBackupLeavesTheServerItsRoom() async throws {
    let site = try Site()
    try await site.serving { _ in }
    try site.configure(server: "disk_reserve = \"1024TiB\"")
    let refused = try await site.run("backup", "-")
    #expect(refused.code == 1 && refused.output.isEmpty, "\(refused.code)")
    #expect(refused.errors.contains("leave less than server.disk_reserve"), "\(refused.errors)")
    #expect(try await site.run("backup", "\(site.folder)/awd.backup").code == 0)
  }

  @Test(.withOtherPrograms) func aPipedBackupOfADatabaseLeavesTheServerItsRoom() async throws {
    let site = try Site(isShared: true)
    try await site.serving { _ in }
    try site.configure(server: "disk_reserve = \"1024TiB\"")
    let refused = try await site.run("backup", "-")
    #expect(refused.code == 1 && refused.output.isEmpty, "\(refused.code)")
    #expect(refused.errors.contains("leave less than server.disk_reserve"), "\(refused.errors)")
    #expect(try await site.run("backup", "\(site.folder)/awd.backup").code == 0)
  }

  /// Copies of a store are as secret as the store, and as large.
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func nothingStaysOfACommandThatASignalEnds(_ number: Int32) async throws {
    let site = try Site()
    let copy = try Site()
    let backup = "\(site.folder)/awd.backup"
    try await site.serving { _ in }
    // Large enough to be caught at work.
    let filled = try await ChildProcess.run(
      "sqlite3",
      [
        "\(site.data)/awd.sqlite3",
        """
        CREATE TABLE filler (id INTEGER PRIMARY KEY, data BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
          INSERT INTO filler SELECT i, randomblob(1000) FROM n;
        CREATE INDEX filler_data ON filler (data);
        """,
      ])
    try #require(filled.code == 0, "\(filled)")
    // A command that was complete before the signal came, as the file tells, is begun again.
    func end(
      _ words: [String], in folder: String, with site: Site, making file: String,
      removing made: [String]
    ) async throws {
      for _ in 1...10 {
        let command = try ChildProcess.awd(
          words + ["--config", site.configuration], home: site.folder)
        try await waitUntil {
          (try? FileManager.default.subpathsOfDirectory(atPath: folder).contains {
            $0.contains(".part")
          }) == true || !command.isRunning
        }
        command.signal(number)
        let ending = try await command.ended()
        guard exists(file) else {
          #expect(ending == .killed(number))
          return
        }
        for path in made where exists(path) { try FileManager.default.removeItem(atPath: path) }
      }
      Issue.record("\(words) was never caught at work")
    }
    func names(in folder: String) throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: folder))
    }
    let before = (try names(in: site.folder), try names(in: site.data))
    let time = "\(site.data)/last-backup"
    try await end(
      ["backup", backup], in: site.folder, with: site, making: backup, removing: [backup, time])
    try await end(["backup", "-"], in: site.data, with: site, making: time, removing: [time])
    #expect(try names(in: site.folder) == before.0)
    #expect(
      try names(in: site.data).subtracting(["awd.sqlite3-wal", "awd.sqlite3-shm"]) == before.1)

    let made = try await site.run("backup", backup)
    try #require(made.code == 0, "\(made)")
    let whole = try names(in: copy.folder)
    try await end(
      ["restore", backup], in: copy.folder, with: copy, making: "\(copy.data)/awd.sqlite3",
      removing: [copy.data])
    #expect(try names(in: copy.folder) == whole)
  }

  /// The way that the refusal of a restoration names leads to a restored server.
  @Test func movesToAMachineThatHasStartedOnce() async throws {
    let site = try Site()
    let copy = try Site()
    let backup = "\(site.folder)/awd.backup"
    let identity = try await site.serving { _ in
      #expect(try await site.run("backup", backup).code == 0)
      return try await site.identity()
    }
    try await copy.serving { _ in }
    let store = "\(copy.data)/awd.sqlite3"
    let first = try Data(contentsOf: URL(filePath: store))
    // The second restoration doesn't overwrite what the first one has moved away.
    for _ in 1...2 {
      let refused = try await copy.run("restore", backup)
      #expect(refused.code == 1, "\(refused)")
      let line = try #require(
        refused.errors.split(separator: "\n").first { $0.contains("install -d") })
      let moved = try await ChildProcess.run("/bin/sh", ["-c", String(line)])
      #expect(moved.code == 0, "\(moved)")
      let restored = try await copy.run("restore", backup)
      #expect(restored.code == 0, "\(restored)")
      try await copy.serving { _ in
        let found = try await copy.identity()
        #expect(found == identity)
      }
    }
    let kept = "\(copy.data).before-restore"
    #expect(try Data(contentsOf: URL(filePath: "\(kept)/awd.sqlite3")) == first)
    #expect(exists("\(kept)-2/awd.sqlite3"))
  }

  @Test func outputThatCannotBeWrittenIsAFailure() async throws {
    let full = try await ChildProcess.run(
      "/bin/sh", ["-c", #""$0" version > /dev/full"#, try ChildProcess.built("awd")])
    #expect(full.code == 1 && full.errors.contains("the output can't be written"), "\(full)")

    let site = try Site()
    try await site.serving { _ in
      #expect(try await site.run("user", "add", "anna", input: "correct horse\n").code == 0)
      for (words, place) in [
        ("user list", "&-"), ("user list --json", "&-"), ("invite new --uid u", "&-"),
        ("invite new --uid u", "/dev/full"), ("token new anna", "&-"),
      ] {
        let script = "exec \"$0\" \(words) --config \"$1\" >\(place)"
        let result = try await ChildProcess.run(
          "/bin/sh", ["-c", script, try ChildProcess.built("awd"), site.configuration])
        #expect(result.code == 1, "\(words): \(result)")
        #expect(result.errors.contains("the output can't be written"), "\(words): \(result)")
      }
      for kind in ["invite", "token"] {
        let left = try await site.run(kind, "list")
        #expect(left.code == 0 && left.output.isEmpty, "\(left)")
      }
    }
  }

  // MARK: - A database that is away

  @Test(.withOtherPrograms) func theServerWaitsForItsDatabase() async throws {
    let server = try PostgreSQLServer()
    let database = try server.makeDatabase()
    let site = try Site()
    var text = try String(contentsOfFile: site.configuration, encoding: .utf8)
    text = "[store]\nurl = \"\(server.url(of: database))\"\n" + text
    try text.write(toFile: site.configuration, atomically: true, encoding: .utf8)
    try server.stop()
    let child = try ChildProcess.awd(["serve", "--config", site.configuration], home: site.folder)
    _ = try await child.line(with: "the database can't be reached; awd waits for it")
    try await waitUntil { (try? await site.status(.get, "/healthz")) == 200 }
    #expect(try await site.status(.get, "/readyz") == 503)
    #expect(try await site.status(.get, "/\(Site.namespace)/\(Site.contract)") == 503)
    try server.start()
    _ = try await child.line(with: "the database is reached")
    _ = try await child.line(with: "listening at=")
    #expect(try await site.status(.get, "/readyz") == 200)
    try await child.stop()

    // SIGTERM ends the waiting, and a lasting error isn't waited for.
    try server.stop()
    let other = try ChildProcess.awd(["serve", "--config", site.configuration], home: site.folder)
    _ = try await other.line(with: "awd waits for it")
    try await other.stop()
    try server.start()
    try text.replacing("/\(database)?", with: "/nowhere?")
      .write(toFile: site.configuration, atomically: true, encoding: .utf8)
    let lasting = try await site.run("serve")
    #expect(lasting.code == 1 && lasting.errors.contains("does not exist"), "\(lasting)")
  }

  /// A command may be of a newer release than the nodes, or meant for another database.
  @Test(.withOtherPrograms) func commandsMakeNoTables() async throws {
    let site = try Site(isShared: true)
    for words in [["user", "list"], ["keys", "replace"], ["invite", "new"]] {
      let refused = try await runAwd(words + ["--config", site.configuration], home: site.folder)
      #expect(refused.code == 1, "\(words): \(refused)")
      #expect(refused.errors.contains("there is no store at postgresql:"), "\(words): \(refused)")
    }
    // It has something to work with besides the store.
    let made = try await site.run("keys", "new")
    #expect(made.code == 0, "\(made)")
    let checked = try await site.run("check", "--verbose")
    #expect(checked.output.contains("`awd serve` will make the tables"), "\(checked)")
    try await site.serving { _ in
      let listed = try await site.run("user", "list")
      #expect(listed.code == 0, "\(listed)")
    }
    try site.query("DELETE FROM store_migrations WHERE owner = 'msgr'")
    let older = try await site.run("user", "list")
    #expect(older.code == 1 && older.errors.contains("start `awd serve`"), "\(older)")
  }

  @Test(.withOtherPrograms) func anEmptyDatabaseIsGood() async throws {
    let site = try Site(isShared: true)
    let checked = try await site.run("check", "--verbose")
    #expect(checked.code == 0, "\(checked)")
    #expect(checked.output.contains("; `awd serve` will make the tables"), "\(checked)")
  }

  // MARK: - Several nodes

  @Test(.withOtherPrograms) func theCheckComparesTheFolderWithThoseOfOtherNodes() async throws {
    let site = try Site(isShared: true)
    let folders = ["one", "two"].map { "\(site.folder)/\($0)" }
    func write(_ text: String, into folder: String) throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try text.write(toFile: "\(folder)/a.tsml", atomically: true, encoding: .utf8)
    }
    try site.configure(
      server: "node = \"north-1\"", rest: "[tokenscript]\nrepository = \"one\"")
    for folder in folders { try write("<token/>", into: folder) }
    func check() async throws -> String {
      try await runAwd(
        ["check", "--verbose", "--config", site.configuration], home: site.folder,
        environment: ["AWD_SERVER_NODE": "north-2", "AWD_TOKENSCRIPT_REPOSITORY": folders[1]]
      ).output
    }
    let equal = "store: good: tokenscript.repository: the same files as on north-1"
    let different = "store: doubtful: tokenscript.repository: node north-1 has other files"
    try await site.serving { _ in
      try await waitUntil { (try? await check().contains(equal)) == true }
      try write("<token>new</token>", into: folders[1])
      let doubted = try await check()
      #expect(doubted.contains(different) && !doubted.contains(equal), "\(doubted)")
      try write("<token>new</token>", into: folders[0])
      try await waitUntil { (try? await check().contains(equal)) == true }
    }
    // A node that has stopped is none to compare with.
    let alone = try await check()
    #expect(!alone.contains("tokenscript.repository: "), "\(alone)")
  }

  // MARK: - The first minute

  private func page(_ site: Site, _ path: String, accept: String) async throws -> IncomingResponse {
    var fields = HeaderFields()
    fields.append(.accept, accept)
    return try await WebClient().send(OutgoingRequest(.get, site.url + path, fields: fields))
  }

  @Test func theFrontDoorIsForBrowsersAlone() async throws {
    let site = try Site()
    try site.configure(server: "name = \"Anna's <server>\"")
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    try await site.serving { child in
      let door = try await page(site, "/", accept: browser)
      let html = String(decoding: door.body, as: UTF8.self)
      #expect(door.status == .ok && html.contains("<h1>Anna&#39;s &lt;server&gt;</h1>"), "\(html)")
      for path in ["/msgr/", "/siren/app/", "/tokenscripts", "/status"] {
        #expect(html.contains("href=\"\(path)\""), "\(path)")
        #expect(try await page(site, path, accept: browser).status == .ok, "\(path)")
      }
      let json = try await page(site, "/", accept: "application/json")
      #expect(json.fields.first(.contentType)?.hasPrefix("application/json") == true)
      #expect(
        !String(decoding: try await page(site, "/", accept: "*/*").body, as: UTF8.self)
          .contains("What you can do here"))
      for path in ["/no/such/page/here", "/no/page", "/msgr/none", "/siren/none", "/v1/none"] {
        let missing = try await page(site, path, accept: browser)
        #expect(missing.status == .notFound, "\(path)")
        #expect(
          String(decoding: missing.body, as: UTF8.self).contains("<a href=\"/\">"), "\(path)")
        let program = try await page(site, path, accept: "*/*")
        #expect(program.status == .notFound, "\(path)")
        #expect(!String(decoding: program.body, as: UTF8.self).contains("<a href"), "\(path)")
      }
      #expect(child.output.contains("Open in a browser"))
      #expect(child.output.contains("\(site.url)/  what runs here"))
    }
  }

  /// The niceness of each thread, of which root alone may have one below 0.
  private func niceness(ofThreadsOf child: ChildProcess) throws -> [Int] {
    let tasks = "/proc/\(child.processIdentifier)/task"
    return try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap { thread in
      // Some end meanwhile. A name may hold blanks, but no parenthesis behind the last.
      let status = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8)
      let words = status?.split(separator: ")").last?.split(separator: " ")
      return words.flatMap { $0.count > 16 ? Int($0[16]) : nil }
    }
  }

  @Test func logsInJSONHaveTheStandardOutputToThemselves() async throws {
    let site = try Site()
    let child = try ChildProcess.awd(
      ["serve", "--config", site.configuration], home: site.folder,
      environment: ["AWD_LOG_FORMAT": "json"])
    _ = try await child.line(with: "listening")
    let niceness = try niceness(ofThreadsOf: child)
    // The library for queues has one for itself.
    #expect(niceness.count > 3 && niceness.count { $0 < 0 } <= 1, "\(niceness)")
    try await child.stop()
    for line in (child.output + child.errors).split(separator: "\n") {
      _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
    }
    #expect(child.errors.split(separator: "\n").first?.contains("\"commit\":") == true)
  }

  @Test(arguments: ["text", "json"]) func aFailedStartEndsWithItsCause(_ format: String)
    async throws
  {
    let site = try Site()
    try await site.serving { _ in }
    try Data("garbage\n".utf8).write(to: URL(filePath: "\(site.data)/apptimist.keys"))
    let refused = try await runAwd(
      ["serve", "--config", site.configuration], home: site.folder,
      environment: ["AWD_LOG_FORMAT": format])
    #expect(refused.code == 1)
    let lines = refused.errors.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].contains(" starts"), "\(refused)")
    let last = try #require(lines.last)
    #expect(last.contains("isn't the one that data in the store depends on"), "\(refused)")
    guard format == "json" else {
      #expect(last.hasPrefix("awd serve: apptimist.keys: "), "\(refused)")
      return
    }
    for line in lines {
      let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(event?["time"] is String, "\(line)")
    }
    #expect(last.contains(#""level":"error""#), "\(last)")
  }

  @Test func theCauseOfAnUnusableDataFolderIsNamed() async throws {
    let site = try Site()
    try Data().write(to: URL(filePath: site.data))
    for command in ["serve", "check"] {
      let refused = try await site.run(command)
      let text = refused.output + refused.errors
      #expect(refused.code == 1 && text.contains("it is a file, and no folder"), "\(refused)")
    }
    let below = try await runAwd(
      ["serve", "--config", site.configuration], home: site.folder,
      environment: ["AWD_SERVER_DATA": "\(site.data)/below"])
    #expect(below.errors.contains("move away the file in its path"), "\(below)")
    let none = try await runAwd(
      ["keys", "new", "--config", site.configuration], home: site.folder,
      environment: ["AWD_SERVER_DATA": "\(site.folder)/none/below"])
    #expect(none.code == 1 && none.errors.contains("make that folder"), "\(none)")
  }

  @Test func aSocketHasTheModeOfTheConfiguration() async throws {
    let site = try Site()
    let path = "\(site.folder)/awd.sock"
    try site.configure(listen: "unix:awd.sock", server: "socket_mode = \"0606\"")
    let child = try await site.serve()
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o606)
    try await child.stop()
    try site.configure(listen: "unix:none/awd.sock")
    let refused = try await site.run("serve")
    #expect(refused.code == 1 && refused.errors.contains("no folder for the socket"), "\(refused)")
    #expect(!refused.errors.contains("port"), "\(refused)")
  }

  @Test(arguments: ["/msgr", "/metrics", "/healthz", "/inbox", "/tokenscript"])
  func aPathOfAnotherServiceIsRefusedByTheCheckToo(_ path: String) async throws {
    let site = try Site()
    try site.configure(rest: "path = \"\(path)\"")
    for command in ["check", "serve"] {
      let refused = try await site.run(command)
      let words = "apptimist.path: expected a path such as \"/siren\" that no other service has"
      #expect(refused.code == 1 && refused.errors.contains(words), "\(refused)")
    }
    try site.configure(rest: "path = \"/messages\"")
    try await site.serving { _ in }
  }

  @Test func theCheckSeesAFileWhereTheSocketWouldBe() async throws {
    let site = try Site()
    try Data("mine".utf8).write(to: URL(filePath: "\(site.folder)/awd.sock"))
    try site.configure(listen: "unix:awd.sock")
    for word in ["check", "serve"] {
      let result = try await site.run(word)
      #expect(
        result.code == 1 && (result.output + result.errors).contains("there is another file"),
        "\(word): \(result)")
    }
    #expect(exists("\(site.folder)/awd.sock"))
  }

  @Test(.enabled(if: geteuid() == 0)) func theCheckSeesAGroupThatTheUserIsNotIn() async throws {
    let site = try Site()
    let nobody = try #require(unsafe getpwnam("nobody"))
    let (user, group) = unsafe (nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    chmod(site.folder, 0o755)
    try FileManager.default.createDirectory(
      atPath: site.data, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700, .ownerAccountID: user, .groupOwnerAccountID: group])
    let path = "\(site.data)/awd.sock"
    try site.configure(listen: "unix:\(path)", server: "socket_group = \"root\"")
    let checked = try await site.run("check")
    #expect(checked.code == 1 && checked.output.contains("must be a member of it"), "\(checked)")
    let served = try await site.serve(as: user, group)
    #expect(served.code == 1 && served.errors.contains("must be a member of it"), "\(served)")
    #expect(!exists(path))
  }

  @Test func aMissingCertificateKeepsTheServerFromMakingAnything() async throws {
    let site = try Site()
    let path = "\(site.folder)/none.pem"
    let served = try await runAwd(
      ["serve", "--config", site.configuration], home: site.folder,
      environment: ["AWD_SERVER_TLS_CERTIFICATE": path, "AWD_SERVER_TLS_KEY": path])
    #expect(served.code == 1 && served.errors.contains("none.pem: No such file"), "\(served)")
    let made = try FileManager.default.contentsOfDirectory(atPath: site.data)
    #expect(made.allSatisfy { $0.contains("lock") }, "\(made)")
  }

  @Test func theCheckSeesAPortInUse() async throws {
    let site = try Site()
    let other = try Site()
    try other.configure(listen: "127.0.0.1:\(site.port)")
    try await site.serving { _ in
      let own = try await site.run("check")
      #expect(own.code == 0, "\(own)")
      let used = try await other.run("check")
      #expect(used.code == 1 && used.output.contains("is in use"), "\(used)")
      // The server doesn't make what nobody will use.
      let served = try await other.run("serve")
      #expect(served.code == 1 && served.errors.contains("is in use"), "\(served)")
      let made = try FileManager.default.contentsOfDirectory(atPath: other.data)
      #expect(made.allSatisfy { $0.contains("lock") }, "\(made)")
    }
  }

  /// There is no lock by which a node that runs is known.
  @Test(.withOtherPrograms) func theCheckBesideANodeDoesNotBlameOthers() async throws {
    let site = try Site(isShared: true)
    try await site.serving { _ in
      let own = try await site.run("check")
      #expect(own.code == 0, "\(own)")
      #expect(
        own.output.contains(":\(site.port) is in use: by this server, if it runs; otherwise"),
        "\(own)")
    }
  }

  // MARK: - Administration

  @Test(arguments: [false, true])
  func accountsInvitationsAndTokensAreAdministered(isShared: Bool) async throws {
    let site = try Site(isShared: isShared)
    try await site.serving { _ in
      let phone = try await site.device("Anna Adams")
      let list = try await site.run("apptimist", "user", "list", "--json")
      #expect(list.code == 0 && list.output.contains("Anna Adams"), "\(list)")
      let key = phone.user.hex
      let shown = try await site.run("apptimist", "user", "show", key)
      #expect(shown.code == 0 && shown.output.contains("Anna Adams"), "\(shown)")
      let export = try await site.run("apptimist", "user", "export", key)
      #expect(export.code == 0 && export.output.contains("\"mailbox\""), "\(export)")
      #expect(try await site.run("apptimist", "user", "disable", key).code == 0)
      #expect(
        try await site.run("apptimist", "user", "show", key).output.contains("disabled"))
      let disabledTwice = try await site.run("apptimist", "user", "disable", key)
      #expect(disabledTwice.code == 0 && disabledTwice.output.contains("disabled already"))
      let nobody = String(repeating: "0", count: 64)
      #expect(try await site.run("apptimist", "user", "disable", nobody).code == 1)
      #expect(try await site.run("apptimist", "user", "enable", key).code == 0)

      for service in ["msgr", "apptimist"] {
        #expect(try await site.run("invite", "new", "--service", service).code == 0)
      }
      let invitations = try await site.run("invite", "list")
      let ids = invitations.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      #expect(ids.count == 2, "\(invitations)")
      for id in ids { #expect(try await site.run("invite", "revoke", id).code == 0) }
      #expect(try await site.run("invite", "list").output.isEmpty)

      for name in ["anna", "bert"] {
        let added = try await site.run("user", "add", name, input: "a password\n")
        #expect(added.code == 0, "\(added)")
      }
      #expect(try await site.run("token", "new", "anna", "--name", "cron").code == 0)
      #expect(try await site.run("token", "list").output.contains("anna/cron"))
      #expect(try await site.run("user", "show", "anna").output.contains("cron"))
      let revoked = try await site.run("token", "revoke", "--json", "anna/cron")
      #expect(revoked.code == 0 && revoked.output.contains("\"cron\""), "\(revoked)")
      #expect(try await site.run("token", "revoke", "anna/cron").code == 1)
      let disabled = try await site.run("user", "disable", "--json", "anna")
      #expect(disabled.output.contains("\"isDisabled\" : true"), "\(disabled)")
      let again = try await site.run("user", "disable", "anna")
      #expect(again.code == 0 && again.output.contains("anna is disabled already"), "\(again)")
      #expect(try await site.run("user", "disable", "--json", "anna").code == 0)
      let own = try await site.run("user", "export", "anna")
      #expect(own.code == 0 && own.output.contains("\"Contacts\""), "\(own)")
      #expect(try await site.run("user", "enable", "anna").output.isEmpty)
      #expect(try await site.run("user", "enable", "anna").output.contains("enabled already"))
      for words in [["user", "disable"], ["user", "enable"], ["token", "list"]] {
        let unknown = try await runAwd(
          words + ["nobody", "--config", site.configuration], home: site.folder)
        #expect(unknown.code == 1, "\(words): \(unknown)")
        #expect(unknown.errors.contains("there is no such account"), "\(words): \(unknown)")
      }

      let trial = try await site.run("user", "erase", "anna", "--check")
      #expect(trial.code == 0 && trial.output.contains("account anna"), "\(trial)")
      #expect(try await site.run("user", "list").output.contains("anna"))
      let erased = try await site.run("user", "erase", "anna", "--json")
      #expect(erased.code == 0 && erased.output.contains("account anna"), "\(erased)")
      #expect(!(try await site.run("user", "list").output.contains("anna")))
      #expect(try await site.run("user", "erase", "anna").code == 1)
      let gone = try await site.run("user", "erase", key)
      #expect(gone.code == 0 && gone.output.contains("account \(key)"), "\(gone)")
      #expect(try await site.run("apptimist", "user", "show", key).code == 1)
    }
  }
}
