internal import Budgets
internal import Cryptography
internal import Formats
internal import Platform

/// Counts failed logins, and says who has to wait before a password is checked again.
///
/// A name that has shown its right password from an address is familiar there, and so is a name at a device that is linked to
/// its account. It is counted by itself there, so that nobody else's failures lock it out: not those of its address, which
/// may be a carrier's or an unknown proxy's, and not those with its own name elsewhere.
///
/// All other logins are guesses. They are counted by name and site, by address and by site. Where there were many, what is new
/// has few: at a name that is guessed from everywhere each site has few, and at a site with many guesses each address has few. So
/// no number of guesses from elsewhere keeps a right password out.
final class FailedLogins: Sendable {
  /// The numbers of failures within a span that are let through.
  struct Limits: Sendable {
    /// Failures of one name from one address, or from one site if it isn't familiar.
    var ofNameAtPlace = 10
    /// Failures of one name at all places where it isn't familiar, after which each site has few.
    var ofName = 100
    /// Failures from one address of all names that aren't familiar there; after as many from a site, each address of it has
    /// few.
    var ofPlace = 100
  }

  /// The failures of what is new where there were many.
  private static let few = 2
  /// How many times as many failures as an address a site may have at all, so that one with endless addresses has an end.
  private static let placesOfSite = 6

  /// The address or site that a client counts for.
  enum Place: Hashable, Sendable {
    /// An address; nil for a Unix socket, which counts as one.
    case network(ClientNetwork?)
    /// A device that is linked to the account, by a digest.
    case device(String)

    init(_ device: DeviceID) {
      self = .device(String(SHA256.hash(Array(device.text.utf8)).hex.prefix(16)))
    }

    fileprivate var subscriber: String {
      switch self {
      case .network(let network): network?.subscriber ?? ""
      case .device(let digest): digest
      }
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
    case nameAtSite(UserName, String)
    case name(UserName)
    case place(Place)
    case site(String)
  }

  /// A failed login, as nodes send it to each other.
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

  /// Returns the keys that a login is counted by, with their limits.
  private func keys(of login: Login, isFamiliar: Bool) -> [(key: Key, limit: Int)] {
    if isFamiliar { return [(.login(login), limits.ofNameAtPlace)] }
    return [
      (.nameAtSite(login.name, login.place.subscriber), nameLimit(login.name)),
      (.name(login.name), .max),
    ] + keys(of: login.place)
  }

  /// The failures that a name has at a site.
  private func nameLimit(_ name: UserName) -> Int {
    let isGuessed = failures.wait(for: Key.name(name), upTo: limits.ofName) != nil
    return isGuessed ? min(Self.few, limits.ofNameAtPlace) : limits.ofNameAtPlace
  }

  private func keys(of place: Place) -> [(key: Key, limit: Int)] {
    let site = Key.site(place.subscriber)
    let isCrowded = failures.wait(for: site, upTo: limits.ofPlace) != nil
    let (most, isTooLarge) = limits.ofPlace.multipliedReportingOverflow(by: Self.placesOfSite)
    return [
      (.place(place), isCrowded ? min(Self.few, limits.ofPlace) : limits.ofPlace),
      (site, isTooLarge ? .max : most),
    ]
  }

  /// Refuses a login that has to wait.
  func refuseIfTooMany(_ login: Login, isFamiliar: Bool) throws(RequestRefusal) {
    var wait = 0
    for (key, limit) in keys(of: login, isFamiliar: isFamiliar) {
      wait = max(wait, failures.wait(for: key, upTo: limit) ?? 0)
    }
    if wait > 0 { throw .tooMany(retryAfter: wait) }
  }

  /// Counts a login as failed when its check begins, so that many at once don't get round a limit.
  ///
  /// - Returns: the keys that it was counted by, to be given to ``refund(_:)`` if it succeeds.
  func begin(_ login: Login, isFamiliar: Bool) throws(RequestRefusal) -> [Key] {
    try count(keys(of: login, isFamiliar: isFamiliar))
  }

  /// Counts a guess of nobody's name at a place as failed when its check begins.
  ///
  /// - Returns: the keys that it was counted by, to be given to ``refund(_:)`` if it succeeds.
  func begin(at place: Place) throws(RequestRefusal) -> [Key] { try count(keys(of: place)) }

  private func count(_ keys: [(key: Key, limit: Int)]) throws(RequestRefusal) -> [Key] {
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

  /// Counts a login that has failed on another node.
  func record(_ failure: Failure) {
    for (key, limit) in keys(of: failure.login, isFamiliar: failure.isFamiliar) {
      _ = failures.count(key, upTo: limit)
    }
  }

  /// Takes back the count of a login that didn't fail.
  func refund(_ keys: [Key]) { for key in keys { failures.refund(key) } }
}

extension FailedLogins.Place {
  private static let devicePrefix = "device "

  /// The place in words, as nodes send it to each other.
  var words: String {
    switch self {
    case .network(let network): network?.description ?? ""
    case .device(let digest): Self.devicePrefix + digest
    }
  }

  /// Reads a place; nil if the words are none.
  init?(words: String) {
    if words.hasPrefix(Self.devicePrefix) {
      self = .device(String(words.dropFirst(Self.devicePrefix.count)))
    } else if words.isEmpty {
      self = .network(nil)
    } else {
      guard let network = ClientNetwork(words: words) else { return nil }
      self = .network(network)
    }
  }
}
