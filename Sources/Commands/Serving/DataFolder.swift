internal import Glibc
internal import Platform
internal import ServiceKit
internal import Storage

/// The folder of everything that the daemon keeps.
enum DataFolder {
  /// Whether there is a file or folder at a path.
  static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  /// Checks that there is a store.
  ///
  /// - Parameter advice: what to do if there is none.
  /// - Throws: ``CommandError`` if there is none, or this user may not look.
  static func requireStore(at path: String, orElse advice: String) throws(CommandError) {
    guard !exists(path) else { return }
    guard errno == EACCES else { throw .refused("there is no store at \(path): \(advice)") }
    throw .refused(
      "user \(currentUser) may not read the store \(path); type the command as the user whose data it is, such as "
        + "sudo -u awd \(Product.name) …")
  }

  /// The name of the user whose rights the process has.
  static var currentUser: String {
    accountName(of: geteuid()) ?? "#\(geteuid())"
  }

  /// Returns the name that the system has for a user, if it has one.
  fileprivate static func accountName(of user: uid_t) -> String? {
    unsafe getpwuid(user).map { unsafe String(cString: $0.pointee.pw_name) }
  }

  /// The name of the group that the current user belongs to first.
  static var currentGroup: String {
    let group = unsafe getpwuid(geteuid()).map { unsafe $0.pointee.pw_gid } ?? getegid()
    return unsafe getgrgid(group).map { unsafe String(cString: $0.pointee.gr_name) } ?? "\(group)"
  }

  /// Makes the folder and the missing ones above it, readable by this user alone.
  ///
  /// - Throws: ``CommandError`` that says what is wrong with the folder and how to mend it.
  static func prepare(_ path: String) throws(CommandError) {
    var made = path.hasPrefix("/") ? "/" : ""
    for part in path.split(separator: "/") {
      made += made.isEmpty || made.hasSuffix("/") ? String(part) : "/\(part)"
      if unsafe mkdir(made, 0o700) == 0 || errno == EEXIST || errno == EISDIR { continue }
      // A folder that exists may lie in one that may not be written to.
      if unsafe access(made, X_OK) == 0 { continue }
      throw refusal(path, "cannot make \(made)", errno)
    }
    if let problem = problem(at: path) { throw .refused("data folder \(path): \(problem)") }
  }

  /// Says what keeps this user from working in a folder, and what to do; nil if nothing does.
  static func problem(at path: String) -> String? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return sentence("it can't be seen", errno) }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return "it is a file, and no folder; move it away, or \(otherFolder)"
    }
    guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else {
      let code = errno
      if let owner = otherOwner(status.st_uid) {
        return
          "user \(currentUser) may not write there, as it belongs to user \(owner); type the command as that "
          + "user, such as sudo -u \(owner) \(Product.name) …, or give the folder to user \(currentUser)"
      }
      return sentence("cannot write there", code)
    }
    return nil
  }

  /// Returns the name of a folder's owner if that is the user of a service, and neither this user nor root.
  private static func otherOwner(_ owner: uid_t) -> String? {
    guard geteuid() != 0, owner != 0, owner != geteuid() else { return nil }
    return accountName(of: owner)
  }

  private static let otherFolder = "choose another folder with `data` in [server]"

  private static func refusal(_ path: String, _ problem: String, _ code: Int32) -> CommandError {
    .refused("data folder \(path): \(sentence(problem, code))")
  }

  private static func sentence(_ problem: String, _ code: Int32) -> String {
    let reason = unsafe String(cString: strerror(code))
    let remedy: String? =
      switch code {
      case EACCES, EPERM: "give it to user \(currentUser)"
      case EROFS: "mount the file system for writing"
      case ENOTDIR: "move away the file in its path"
      default: nil
      }
    let ways = [remedy, otherFolder].compactMap(\.self)
    return "\(problem): \(reason); \(ways.joined(separator: ", or "))"
  }
}

/// The right to serve from a data folder, which one daemon at a time has: sessions of a second one would miss events of
/// the first.
///
/// The system releases the lock when the process ends, however it ends.
struct DataFolderLock: ~Copyable {
  private let descriptor: Int32

  /// The file that is locked.
  static func path(in folder: String) -> String { folder + "/awd.lock" }

  /// Acquires the lock.
  ///
  /// - Parameter folder: the data folder, which exists.
  /// - Throws: ``CommandError`` if another daemon has the lock.
  init(_ folder: String) throws(CommandError) {
    let path = Self.path(in: folder)
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .refused("cannot open \(path): \(unsafe String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw .refused(
        "another awd serves from the data folder \(folder); "
          + "stop it, or choose another folder with `data` in [server]")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Whether a server serves from a folder now.
  static func isHeld(in folder: String) -> Bool {
    let descriptor = unsafe open(path(in: folder), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0
  }
}

/// The user whose files a data folder holds. What root writes there, the service can't open: so a command that root
/// types works as that user.
struct DataOwner {
  let user: uid_t
  let group: gid_t
  /// The user's name, if the system knows it.
  let name: String?

  /// Finds the owner of a data folder, or the user for whom the configuration was installed if there is no folder yet.
  ///
  /// - Returns: nil for root, and if nothing tells.
  init?(of folder: String, configuredIn file: String?) {
    var status = stat()
    if unsafe stat(folder, &status) == 0 {
      self.init(user: status.st_uid, group: status.st_gid)
      return
    }
    // A package gives the file to root and to the service's group, which is named like its user.
    guard let file, unsafe stat(file, &status) == 0, status.st_gid != 0,
      let group = unsafe getgrgid(status.st_gid),
      let user = unsafe getpwnam(group.pointee.gr_name)
    else { return nil }
    unsafe self.init(user: user.pointee.pw_uid, group: user.pointee.pw_gid)
  }

  private init?(user: uid_t, group: gid_t) {
    guard user != 0 else { return nil }
    self.user = user
    self.group = group
    name = DataFolder.accountName(of: user)
  }

  /// How a shell names the user.
  private var account: String { name ?? "#\(user)" }

  /// Goes on as this user if the process is root's, and does nothing otherwise.
  ///
  /// - Throws: ``CommandError`` with the line to type if the system doesn't allow it.
  func become() throws(CommandError) {
    guard geteuid() == 0 else { return }
    let hasGroups =
      name.map { unsafe initgroups($0, group) == 0 } ?? (setgroups(0, nil) == 0)
    guard hasGroups, setgid(group) == 0, setuid(user) == 0 else {
      throw .refused("this is the work of user \(account): sudo -u \(account) \(Product.name) …")
    }
  }

  /// Refuses to serve as root from another user's folder.
  func refuseRoot() throws(CommandError) {
    guard geteuid() == 0 else { return }
    throw .refused(
      "the data folder belongs to user \(account), who couldn't open what root writes there; start the "
        + "service with systemctl start awd, or type: sudo -u \(account) \(Product.name) serve …")
  }
}

/// Files and folders that are put in place, and can all be taken away again if one of them can't be put there.
struct Placement: ~Copyable {
  private var files: [String] = []
  private var folders: [String] = []
  private var isKept = false

  deinit {
    guard !isKept else { return }
    for file in files.reversed() { unsafe unlink(file) }
    // One that others put something into meanwhile stays.
    for folder in folders.reversed() { unsafe rmdir(folder) }
    UnfinishedFiles.forget(files + folders)
  }

  /// Leaves everything where it is.
  mutating func keep() {
    isKept = true
    UnfinishedFiles.forget(files + folders)
  }

  /// Records a file that is about to be made by others, and the folders above it that will be made with it.
  ///
  /// - Parameter path: the file. One that exists is left alone.
  mutating func willCreate(_ path: String) {
    guard unsafe access(path, F_OK) != 0 else { return }
    recordMissingFolders(above: path)
    files.append(path)
    UnfinishedFiles.add([path])
  }

  private mutating func recordMissingFolders(above path: String) {
    var folder = DurableFile.folder(of: path)
    var missing: [String] = []
    while unsafe access(folder, F_OK) != 0, folder != ".", folder != "/" {
      missing.append(folder)
      folder = DurableFile.folder(of: folder)
    }
    for folder in missing.reversed() where !folders.contains(folder) {
      folders.append(folder)
      UnfinishedFiles.add([folder])
    }
  }

  /// Writes files that only this user can read, and waits for the disk.
  ///
  /// - Parameter contents: the files, by their paths, of which none exists.
  /// - Throws: an error if one of them can't be written.
  mutating func write(_ contents: [Backup.File]) throws(CommandError) {
    for file in contents {
      recordMissingFolders(above: file.path)
      do throws(SystemError) {
        try DurableFile.makeFolder(DurableFile.folder(of: file.path))
        try DurableFile.create(file.path, file.content, mode: 0o600)
        // Not before: one that somebody else made meanwhile is theirs.
        files.append(file.path)
        UnfinishedFiles.add([file.path])
        try DurableFile.sync(folderOf: file.path)
      } catch { throw .refused("\(file.path): \(error)") }
    }
  }
}
