internal import Budgets
internal import Formats
internal import Platform

/// Counts failed logins, and says who has to wait before a password is checked again.
///
/// A name that has shown its right password in a network is familiar there. It is counted by itself there, so that
/// nobody else's failures lock it out: not those of its network, which may be a carrier's or an unknown proxy's, and not
/// those with its own name elsewhere. All other names of a network are guesses, which are counted together; so are the
/// guesses at one name from all networks in which it isn't familiar.
final class FailedLogins: Sendable {
  /// The numbers of failures within a span that are let through.
  struct Limits: Sendable {
    /// Failures of one name in one network.
    var ofNameInNetwork = 10
    /// Failures of one name in all networks in which it isn't familiar.
    var ofName = 100
    /// Failures in one network of all names that aren't familiar there.
    var ofNetwork = 100
  }

  /// A name in a network, the pair that a login is counted for.
  struct Login: Hashable, Sendable {
    let name: UserName
    /// The client's network; nil for a Unix socket, which counts as one network.
    let network: ClientNetwork?
  }

  /// The keys that failures are counted by.
  enum Key: Hashable, Sendable {
    case login(Login)
    case name(UserName)
    case network(ClientNetwork?)
  }

  /// A failed login, as other nodes are told of it.
  struct Failure: Hashable, Sendable {
    let name: UserName
    /// The client's network in words; nil for a Unix socket.
    let network: String?
    let isFamiliar: Bool
  }

  private let limits: Limits
  private let failures: AttemptTable
  private let familiar = RecentValues<Login, Void>(limit: 1 << 16)

  /// Makes a count of nothing.
  ///
  /// - Parameters:
  ///   - limits: the numbers of failures that are let through.
  ///   - span: the time for which a failure counts.
  init(_ limits: Limits, span: Duration, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    failures = AttemptTable(span: span, clock: clock)
  }

  /// Returns whether a name is familiar in a network.
  func isFamiliar(_ login: Login) -> Bool { familiar.value(for: login) != nil }

  /// Makes a name familiar in a network, as its right password was shown there.
  func recordSuccess(_ login: Login) { if !isFamiliar(login) { familiar.insert((), for: login) } }

  /// Refuses a login that has to wait.
  func refuseIfTooMany(_ login: Login, isFamiliar: Bool) throws(RequestRefusal) {
    var wait = failures.wait(for: Key.login(login), upTo: limits.ofNameInNetwork) ?? 0
    if !isFamiliar {
      wait = max(
        wait, failures.wait(for: Key.name(login.name), upTo: limits.ofName) ?? 0,
        failures.wait(for: Key.network(login.network), upTo: limits.ofNetwork) ?? 0)
    }
    if wait > 0 { throw .tooMany(retryAfter: wait) }
  }

  /// Counts a login as failed when its check begins, so that many at once don't get round a limit.
  ///
  /// - Returns: the keys that it was counted by, to be given to ``refund(_:)`` if it succeeds.
  func begin(_ login: Login, isFamiliar: Bool) throws(RequestRefusal) -> [Key] {
    var keys = [(Key.login(login), limits.ofNameInNetwork)]
    if !isFamiliar {
      keys += [(.name(login.name), limits.ofName), (.network(login.network), limits.ofNetwork)]
    }
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

  /// Counts a guess of nobody's name in a network as failed when its check begins.
  ///
  /// - Returns: the keys that it was counted by, to be given to ``refund(_:)`` if it succeeds.
  func begin(in network: ClientNetwork?) throws(RequestRefusal) -> [Key] {
    let seconds = failures.count(Key.network(network), upTo: limits.ofNetwork)
    if let seconds { throw .tooMany(retryAfter: seconds) }
    return [.network(network)]
  }

  /// Counts a login that has failed on another node.
  func note(_ failure: Failure) {
    let address = failure.network.map { IPAddress(String($0.prefix { $0 != "/" })) }
    if let address, address == nil { return }
    let network = (address ?? nil).map(ClientNetwork.init(of:))
    let login = Login(name: failure.name, network: network)
    _ = failures.count(Key.login(login), upTo: limits.ofNameInNetwork)
    guard !failure.isFamiliar else { return }
    _ = failures.count(Key.name(failure.name), upTo: limits.ofName)
    _ = failures.count(Key.network(network), upTo: limits.ofNetwork)
  }

  /// Takes back the count of a login that didn't fail.
  func refund(_ keys: [Key]) { for key in keys { failures.uncount(key) } }
}

extension FailedLogins.Failure {
  /// Describes the failure of a login.
  init(of login: FailedLogins.Login, isFamiliar: Bool) {
    self.init(
      name: login.name, network: login.network.map { "\($0)" }, isFamiliar: isFamiliar)
  }
}

/// Counts the accounts that are made from each client's network.
final class RegistrationLimits: Sendable {
  /// The numbers of accounts that a network may make.
  struct Limits: Sendable {
    var perMinute = 5
    var perDay = 50
  }

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
  }

  /// Takes back the count of an account that wasn't made.
  func refund(in network: ClientNetwork?) {
    minute.uncount(network)
    day.uncount(network)
  }
}
