internal import Budgets
internal import Configuration
internal import Platform
internal import ServiceKit

/// The section `[msgr.topics]`.
struct TopicConfiguration: Sendable {
  /// The setting for topics: none, for accounts, or for everybody.
  enum Access: String, CaseIterable, Sendable {
    /// There are no topics.
    case off
    /// Accounts make topics, which they own.
    case accounts
    /// Requests without an account make topics too, which nobody owns.
    case open
  }

  var access = Access.accounts
  /// The rights that everyone has on an account's new topic.
  var everyone = TopicLevel.deny
  /// The hosts that ntfy's and Gotify's clients are answered at; none for those of the service.
  var hosts: [HostName] = []
  /// True if pages of any site may call.
  var hasCORS = true
  /// The time for which messages of an owned topic are kept.
  var age = Duration.seconds(7 * 86_400)
  /// The time for which messages of nobody's topic are kept.
  var openAge = Duration.seconds(43_200)
  /// The most messages of a topic.
  var messages = 1000
  var topicsPerAccount = 200
  /// The topics that an address makes in a day.
  var topicsPerAddress = 50
  var topics = 100_000
  /// The topics of one site's accounts, or that were made from there without one.
  private(set) var topicsPerSite = 0
  /// How often an account publishes, or without one an address.
  var publishing = RefillTable.Rate(burst: 60, refill: .seconds(5))
  /// How often an account reads, checks or fetches a file, or without one an address.
  var reading = RefillTable.Rate(burst: 120, refill: .seconds(1))
  /// The streams without an account of one address.
  var streamsPerAddress = 30
  var keepalive = Duration.seconds(45)
  var longestDelay = Duration.seconds(30 * 86_400)
  /// The messages of an account or address that wait for their time.
  var waiting = 100
  /// The messages of one site that wait for their time.
  private(set) var waitingPerSite = 0
  /// The most subscribers of a topic whose messages come to their inboxes, and those of one site's accounts, which aren't the
  /// owner's.
  let subscribers = 1000
  private(set) var subscribersPerSite = 0
  /// The uploads of one site that are in progress.
  private(set) var uploadsPerSite = 16
  /// The largest file; 0 for no files.
  var attachmentBytes = 15 << 20
  var attachmentsPerAccount = 100 << 20
  var attachmentsPerAddress = 20 << 20
  var attachments = 5 << 30
  private(set) var attachmentsPerSite = 0
  var attachmentAge = Duration.seconds(3 * 86_400)
  var openAttachmentAge = Duration.seconds(3 * 3600)
  /// The bytes of files that go up and down in a day for one who has uploaded.
  var bandwidth = 500 << 20
  /// The server that wakes iPhones; empty for none.
  var upstream = ""
  var upstreamToken = Secret("")

  /// True if the server's own address is known, which phones that are woken listen to.
  private let hasPublicURL: Bool

  /// True if another server is asked to wake iPhones.
  var wakesPhones: Bool { !upstream.isEmpty && hasPublicURL }

  /// The meaning of ``upstream``, for the operator.
  var upstreamFinding: ContentFinding {
    hasPublicURL
      ? ContentFinding(
        .good,
        "topics: \(upstream) wakes iPhones; it learns a digest of each topic's address, the message's "
          + "identifier and the time, and public_url must be what people type")
      : ContentFinding(
        .doubtful, "topics: upstream \(upstream) does nothing, as [server] public_url isn't set")
  }

  init(_ section: ConfigurationSection) {
    hasPublicURL = section.publicURL != nil
    let day = Duration.seconds(86_400)
    let year = day * 366
    let many = 1...1_000_000_000
    access = section.choice("access", default: access)
    everyone = section.choice("everyone", default: everyone)
    hosts = section.values(
      "hosts", default: hosts, expected: "a host name such as \"push.example.org\"",
      parse: HostName.init)
    hasCORS = section.bool("cors", default: hasCORS)
    section.duration("age", &age, in: .seconds(1)...year)
    section.duration("age_open", &openAge, in: .seconds(1)...year)
    section.integer("messages", &messages, in: 1...1_000_000)
    section.integer("topics_per_account", &topicsPerAccount, in: many)
    section.integer("topics_per_address", &topicsPerAddress, in: many)
    section.integer("topics", &topics, in: many)
    section.integer("burst", &publishing.burst, in: 1...1_000_000)
    section.duration("refill", &publishing.refill, in: .milliseconds(1)...day)
    section.integer("subscribe_burst", &reading.burst, in: 1...1_000_000)
    section.duration("subscribe_refill", &reading.refill, in: .milliseconds(1)...day)
    section.integer("streams_per_address", &streamsPerAddress, in: 1...1_000_000)
    section.duration("keepalive", &keepalive, in: .seconds(1) ... .seconds(3600))
    section.duration("delay_max", &longestDelay, in: .seconds(1)...year)
    section.integer("waiting", &waiting, in: 0...1_000_000)
    section.size("attachment_bytes", &attachmentBytes, in: 0...(1 << 30))
    section.size("attachments_per_account", &attachmentsPerAccount, in: 0...(1 << 50))
    section.size("attachments_per_address", &attachmentsPerAddress, in: 0...(1 << 50))
    section.size("attachments", &attachments, in: 0...(1 << 50))
    section.duration("attachment_age", &attachmentAge, in: .seconds(1)...year)
    section.duration("attachment_age_open", &openAttachmentAge, in: .seconds(1)...year)
    section.size("bandwidth", &bandwidth, in: 0...(1 << 50))
    topicsPerAddress = section.multipliedByUsers(topicsPerAddress)
    streamsPerAddress = section.multipliedByUsers(streamsPerAddress)
    attachmentsPerAddress = section.multipliedByUsers(attachmentsPerAddress)
    subscribersPerSite = section.share(of: subscribers)
    waitingPerSite = section.multipliedByUsers(10 * waiting)
    uploadsPerSite = section.multipliedByUsers(uploadsPerSite)
    topicsPerSite = max(topicsPerAccount, section.share(of: topics))
    attachmentsPerSite = max(attachmentsPerAccount, section.share(of: attachments))
    let url = section.optionalValue(
      "upstream", expected: "a URL with https, or with http to this machine",
      parse: UpstreamURL.init)
    upstream = url?.description ?? ""
    upstreamToken = section.secret("upstream_token")
  }
}
