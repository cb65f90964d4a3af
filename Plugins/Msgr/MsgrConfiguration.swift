package import Configuration
package import ServiceKit

internal import Budgets
internal import Cryptography
internal import Ethereum
internal import Platform
internal import Push

/// The ways to get an account.
enum Signup: String, CaseIterable, Sendable {
  /// Anyone makes one.
  case open
  /// Holders of an invitation make one.
  case invite
  /// The operator makes them.
  case closed
}

/// The section `[msgr]`.
package struct MsgrConfiguration: ServiceConfiguration {
  var store = MsgrStore.Limits()
  var attempts = FailedLogins.Limits()
  var registrations = RegistrationLimits.Limits()
  var streams = MessageStreamSlots.Limits()
  /// The most bytes of what one site's accounts have in inboxes, topics and files.
  var storedPerAddress = 4 << 30
  /// The most messages of a sender in a minute.
  var messagesPerMinute = 600
  var passwordCost = PasswordHash.Cost(passes: 2, memory: 64 << 20)
  var passwordThreads = max(1, Processors.count - 1)
  /// The number of password checks that may wait.
  var passwordQueue = 64
  /// The time for which a verified password is remembered.
  var passwordCache = Duration.seconds(600)
  /// The time for which a failed login counts.
  var failureSpan = Duration.seconds(300)
  /// The interval of pings on streams.
  var streamPing = Duration.seconds(30)
  /// True if there is a page for people.
  var hasWebApp = true
  /// The users who may make an account by a request.
  var signup = Signup.open
  /// The fewest bytes of a new password.
  var minimumPassword = 8
  /// The origins, besides the server's own, whose pages may call.
  var origins: [WebOrigin] = []
  /// The rules for messages by which wallets log in, or nil if they don't.
  let siwe: SignInRules?
  /// The endpoints of chains.
  let chains: [ChainID: ChainEndpoint]
  /// The longest text of a publisher or a topic, in bytes.
  var messageBytes = 64 << 10
  /// How often a token publishes.
  var publishing = RefillTable.Rate(burst: 60, refill: .seconds(1))
  /// True if Gotify's clients are answered.
  var hasGotify = true
  /// Topics, and ntfy's clients.
  let topics: TopicConfiguration
  /// The choice of push services for phones. Browsers are pushed to in any case.
  let push: PushMode
  let pushServices: PushConfiguration

  /// Reads the section, and records its faults.
  package init(_ section: ConfigurationSection) {
    let day = Duration.seconds(86_400)
    section.integer("inbox_messages", &store.inbox, in: 1...1_000_000)
    section.duration("inbox_age", &store.messageAge, in: .seconds(1)...day * 36_500)
    section.duration("token_age", &store.tokenAge, in: .seconds(1)...day * 36_500)
    section.integer("devices", &store.devices, in: 1...1000)
    section.integer("contacts", &store.contacts, in: 1...1_000_000)
    section.integer("failed_logins_name", &attempts.ofNameAtPlace, in: 1...1_000_000)
    section.integer("failed_logins_account", &attempts.ofName, in: 1...1_000_000)
    section.integer("failed_logins_address", &attempts.ofPlace, in: 1...1_000_000)
    section.duration("failed_logins_span", &failureSpan, in: .seconds(1)...day)
    section.integer("registrations_burst", &registrations.burst, in: 1...1_000_000_000)
    section.integer("registrations_per_minute", &registrations.perMinute, in: 1...1_000_000_000)
    section.integer("registrations_per_day", &registrations.perDay, in: 1...1_000_000_000)
    section.size("stored_size_per_address", &storedPerAddress, in: 0...(1 << 50))
    // As many people may be behind one address.
    attempts.ofPlace = section.multipliedByUsers(attempts.ofPlace)
    registrations.burst = section.multipliedByUsers(registrations.burst)
    registrations.perMinute = section.multipliedByUsers(registrations.perMinute)
    registrations.perDay = section.multipliedByUsers(registrations.perDay)
    storedPerAddress = section.multipliedByUsers(storedPerAddress)
    hasWebApp = section.bool("web", default: hasWebApp)
    signup = section.choice("signup", default: signup)
    section.integer("minimum_password", &minimumPassword, in: 1...Password.longest)
    origins = section.values(
      "origins", default: origins, expected: "an origin such as https://chat.example.org",
      parse: WebOrigin.init)
    section.integer("messages_per_minute", &messagesPerMinute, in: 1...1_000_000_000)
    passwordCost = PasswordHash.Cost(
      passes: section.integer("password_passes", default: passwordCost.passes, in: 1...1000),
      memory: section.size(
        "password_memory", default: passwordCost.memory, in: (8 << 10)...(4 << 30)))
    section.integer("password_threads", &passwordThreads, in: 1...1024)
    section.integer("password_queue", &passwordQueue, in: 0...100_000)
    section.duration("password_cache", &passwordCache, in: .zero...day)
    section.duration("stream_ping", &streamPing, in: .seconds(1) ... .seconds(3600))
    section.integer("streams", &streams.all, in: 1...1_000_000)
    streams.ofNetwork = section.multipliedByUsers(
      section.integer(
        "streams_per_address", default: min(streams.ofNetwork, streams.all), in: 1...1_000_000))
    section.integer("streams_per_account", &streams.ofAccount, in: 1...1_000_000)
    // A ping confirms the messages that were streamed before it, and its pong may come late.
    store.pushHold = streamPing * 3
    let hasWallets = section.bool("wallet", default: false)
    let rules = SignInRules(section.section("siwe"), path: "/msgr/", isUsed: hasWallets)
    siwe = hasWallets ? rules : nil
    chains = ChainEndpoint.all(for: section)
    section.size("message_bytes", &messageBytes, in: 1...(16 << 20))
    section.integer("publish_burst", &publishing.burst, in: 1...1_000_000)
    section.duration("publish_refill", &publishing.refill, in: .milliseconds(1)...day)
    hasGotify = section.bool("gotify", default: hasGotify)
    topics = TopicConfiguration(section.section("topics"))
    push = PushMode(section, default: .off, hasWeb: false, takesAPNs: true)
    pushServices = PushConfiguration(section.beside("push"))
  }
}

extension MsgrConfiguration: Checking {
  /// Checks the keys and certificates that pushes are made with.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  /// - Returns: a finding for each.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    let upstream = topics.upstream.isEmpty ? [] : [topics.upstreamFinding]
    return push.findings(pushServices, hasWeb: true, isExposed: isExposed, at: .now()) + upstream
  }

  /// Warns of accounts that anybody may make.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  package func warnings(isExposed: Bool) -> [ContentFinding] {
    var warnings: [ContentFinding] = []
    if isExposed, signup == .open {
      warnings.append(
        ContentFinding(
          .doubtful,
          "accounts: anyone who reaches the server may make one, and send messages; "
            + #"[msgr] signup = "invite" asks for an invitation"#))
    }
    if isExposed, topics.access == .open {
      warnings.append(
        ContentFinding(
          .doubtful,
          "topics: anyone who reaches the server may publish, and read what nobody owns; "
            + #"[msgr.topics] access = "accounts" asks for an account"#))
    }
    return warnings
  }
}
