internal import Budgets
internal import Cryptography
internal import Formats
internal import Platform

/// Counts failed logins, and says who has to wait before a password is checked again.
///
/// Failures are counted by place: the site that a client's address belongs to, or a device that is linked to the account. A
/// name that has shown its right password at a place is familiar there, and so is a name at a device of its own. It is
/// counted by itself there, so that nobody else's failures lock it out: not those of its place, which may be a carrier's or
/// an unknown proxy's, and not those with its own name elsewhere. All other names of a place are guesses, which are counted
/// together.
///
/// When there were many guesses at one name from everywhere, each new place has few of them. So no number of guesses from
/// elsewhere keeps a right password from a new place.
final class FailedLogins: Sendable {
  /// The numbers of failures within a span that are let through.
  struct Limits: Sendable {
    /// Failures of one name at one place.
    var ofNameAtPlace = 10
    /// Failures of one name at all places where it isn't familiar, after which new places have few.
    var ofName = 100
    /// Failures at one place of all names that aren't familiar there.
    var ofPlace = 100
  }

  /// The failures of a guessed name that a new place has.
  private static let ofGuessedName = 2

  /// Where a client is.
  enum Place: Hashable, Sendable {
    /// The site of its address; empty for a Unix socket, which counts as one.
    case site(String)
    /// A device that is linked to the account, by a digest.
    case device(String)

    init(_ network: ClientNetwork?) { self = .site(network?.site ?? "") }

    init(_ device: DeviceID) {
      self = .device(SHA256.hash(Array(device.text.utf8)).hex.prefix(16).description)
    }
  }

  /// A name at a place, the pair that a login is counted for.
  struct Login: Hashable, Sendable {
    let name: UserName
    let place: Place
  }

  /// The keys that failures are counted by.
  enum Key: Hashable, Sendable {
    case login(Login)
    case name(UserName)
    case place(Place)
  }

  /// A failed login, as other nodes are told of it.
  struct Failure: Hashable, Sendable {
    let login: Login
    let isFamiliar: Bool
  }

  private let limits: Limits
  private let failures: AttemptTable
  private let familiar = RecentValues<Login, Void>(limit: 1 << 16)

  /// - Parameter span: the time for which a failure counts.
  init(_ limits: Limits, span: Duration, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    failures = AttemptTable(span: span, clock: clock)
  }

  /// Returns whether a name is familiar at a place.
  func isFamiliar(_ login: Login) -> Bool {
    if case .device = login.place { return true }
    return familiar.value(for: login) != nil
  }

  /// Makes a name familiar at a place, as its right password was shown there.
  func recordSuccess(_ login: Login) { if !isFamiliar(login) { familiar.insert((), for: login) } }

  /// Returns whether there were so many guesses at a name that new places have few.
  private func isGuessed(_ name: UserName) -> Bool {
    failures.wait(for: Key.name(name), upTo: limits.ofName) != nil
  }

  /// The failures that a name has at a place.
  private func limit(of login: Login, isFamiliar: Bool) -> Int {
    isFamiliar || !isGuessed(login.name)
      ? limits.ofNameAtPlace : min(limits.ofNameAtPlace, Self.ofGuessedName)
  }

  /// Refuses a login that has to wait.
  func refuseIfTooMany(_ login: Login, isFamiliar: Bool) throws(RequestRefusal) {
    let limit = limit(of: login, isFamiliar: isFamiliar)
    var wait = failures.wait(for: Key.login(login), upTo: limit) ?? 0
    if !isFamiliar {
      wait = max(wait, failures.wait(for: Key.place(login.place), upTo: limits.ofPlace) ?? 0)
    }
    if wait > 0 { throw .tooMany(retryAfter: wait) }
  }

  /// Counts a login as failed when its check begins, so that many at once don't get round a limit.
  ///
  /// - Returns: the keys that it was counted by, to be given to ``refund(_:)`` if it succeeds.
  func begin(_ login: Login, isFamiliar: Bool) throws(RequestRefusal) -> [Key] {
    var keys = [(Key.login(login), limit(of: login, isFamiliar: isFamiliar))]
    if !isFamiliar { keys += [(.place(login.place), limits.ofPlace), (.name(login.name), .max)] }
    var counted: [Key] = []
    for (key, limit) in keys {
      if let seconds = failures.count(key, upTo: limit) {
        refund(counted)
        throw .tooMany(retryAfter: seconds)
      }
      counted.append(key)
    }
    return counted
  }

  /// Counts a guess of nobody's name at a place as failed when its check begins.
  ///
  /// - Returns: the keys that it was counted by, to be given to ``refund(_:)`` if it succeeds.
  func begin(at place: Place) throws(RequestRefusal) -> [Key] {
    let seconds = failures.count(Key.place(place), upTo: limits.ofPlace)
    if let seconds { throw .tooMany(retryAfter: seconds) }
    return [.place(place)]
  }

  /// Counts a login that has failed on another node.
  func record(_ failure: Failure) {
    _ = failures.count(Key.login(failure.login), upTo: limits.ofNameAtPlace)
    guard !failure.isFamiliar else { return }
    _ = failures.count(Key.name(failure.login.name), upTo: .max)
    _ = failures.count(Key.place(failure.login.place), upTo: limits.ofPlace)
  }

  /// Takes back the count of a login that didn't fail.
  func refund(_ keys: [Key]) { for key in keys { failures.uncount(key) } }
}

extension FailedLogins.Place {
  private static let devicePrefix = "device "

  /// The place in words, as nodes tell each other.
  var words: String {
    switch self {
    case .site(let site): site
    case .device(let digest): Self.devicePrefix + digest
    }
  }

  init(words: String) {
    self =
      words.hasPrefix(Self.devicePrefix)
      ? .device(String(words.dropFirst(Self.devicePrefix.count))) : .site(words)
  }
}

/// Counts the accounts that are made from each client's network.
final class RegistrationLimits: Sendable {
  /// The numbers of accounts that a network may make.
  struct Limits: Sendable {
    var perMinute = 5
    var perDay = 50
  }

  /// How many times as many accounts as one of its networks a site may make in a day.
  private static let networksOfSite = 10
  /// The number of networks that have room in a table. Networks with the lowest counts lose their places to others.
  private static let tableSize = 1 << 13

  private let limits: Limits
  private let minute: AttemptTable
  private let day: AttemptTable

  init(_ limits: Limits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    minute = AttemptTable(span: .seconds(60), size: Self.tableSize, clock: clock)
    day = AttemptTable(span: .seconds(86_400), size: Self.tableSize, clock: clock)
  }

  /// Counts an account before its password is hashed, or refuses it.
  ///
  /// - Parameter network: the client's network; nil, which is a Unix socket, counts as one network.
  func begin(in network: ClientNetwork?) throws(RequestRefusal) {
    if let seconds = day.count(network, upTo: limits.perDay) { throw .tooMany(retryAfter: seconds) }
    if let seconds = minute.count(network, upTo: limits.perMinute) {
      day.uncount(network)
      throw .tooMany(retryAfter: seconds)
    }
    guard let network else { return }
    let (product, isTooLarge) = limits.perDay.multipliedReportingOverflow(by: Self.networksOfSite)
    let seconds = day.count(network.site, upTo: isTooLarge ? .max : product)
    guard let seconds else { return }
    day.uncount(network)
    minute.uncount(network)
    throw .tooMany(retryAfter: seconds)
  }

  /// Takes back the count of an account that wasn't made.
  func refund(in network: ClientNetwork?) {
    minute.uncount(network)
    day.uncount(network)
    if let network { day.uncount(network.site) }
  }
}
