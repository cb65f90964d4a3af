package import Cryptography

internal import Budgets
internal import Configuration
internal import Formats
internal import Glibc
internal import HTTPClient
internal import HTTPProtocol
internal import Platform

/// The push services of browsers and of UnifiedPush's distributors (RFC 8030), each named by its subscriptions.
final class WebPushProvider: PushProvider {
  /// The lifetime of a token, whose last hour isn't used.
  private static let tokenLifetime = Duration.seconds(12 * 3600)
  private static let timeToLive = FieldName("TTL")
  private static let urgency = FieldName("Urgency")

  /// Reaches public addresses only.
  private let client: WebClient
  /// Reaches the hosts that the operator has allowed, wherever they are.
  private let ownClient: WebClient
  private let allowed: Set<HostAndPort>
  /// The tokens of RFC 8292.
  private let tokens: PushTokens
  private let publicKey: String
  let load = PushServiceLoad()
  private let clock: @Sendable () -> Timestamp
  private let randomBytes: @Sendable (Int) -> [UInt8]

  let target = "web"

  /// Makes a provider, which connects with the first push.
  ///
  /// - Parameters:
  ///   - pair: the key that pushes are signed with.
  ///   - publicURL: the server's URL as seen from outside, if it is known.
  ///   - randomBytes: gives random bytes.
  /// - Throws: ``PushSetupError``, or ``HTTPClientError``.
  init(
    _ configuration: WebPushConfiguration, _ pair: P256KeyPair, publicURL: String?,
    clock: @escaping @Sendable () -> Timestamp, randomBytes: @escaping @Sendable (Int) -> [UInt8]
  ) throws {
    guard let key = SigningKey(pair) else {
      throw PushSetupError(message: "\(configuration.key): OpenSSL can't use the key")
    }
    let subject = VAPIDSubject(contact: configuration.contact, publicURL: publicURL).text
    tokens = PushTokens(
      key, header: ["typ": "JWT"], lifetime: Self.tokenLifetime - .seconds(3600), clock: clock
    ) { origin, now in
      let end = now + Self.tokenLifetime
      return JSONWriter.text { claims in
        claims["aud"] = origin
        claims["exp"] = end.seconds
        claims["sub"] = subject
      }
    }
    publicKey = Base64URL.encode(pair.publicKey.bytes)
    var options = HTTPClientOptions()
    options.connectTimeout = .seconds(5)
    options.timeout = PushStore.attempt
    options.bodyLimit = 4096
    options.cutsLongBodies = true
    options.connectionsPerHost = 2
    options.reach = .publicAddresses
    client = try WebClient(options)
    options.reach = .anyAddress
    if !configuration.roots.isEmpty { options.certificateAuthorities = configuration.roots }
    ownClient = try WebClient(options)
    allowed = configuration.allowed
    self.clock = clock
    self.randomBytes = randomBytes
  }

  func push(_ push: LeasedPush, _ payload: PushPayload) async -> PushOutcome {
    guard let subscription = WebPushSubscription(push.address), case .web(let text) = payload else {
      return .forbidden("there is no subscription")
    }
    let owner = PushOwner(push)
    guard let place = load.begin(subscription.endpoint.origin, for: owner) else {
      return .postponed
    }
    guard let pair = try? P256KeyPair(),
      let token = tokens.token(for: subscription.endpoint.origin)
    else {
      load.giveBack(place)
      return .postponed
    }
    guard
      let body = WebPushEncryption.encrypt(
        text, for: subscription, with: pair, salt: randomBytes(16))
    else {
      load.giveBack(place)
      return .forbidden("the push can't be encrypted for its subscription")
    }
    let request = request(push, body, token, to: subscription)
    let client = allowed.contains(subscription.endpoint.authority) ? ownClient : client
    do {
      let response = try await place.perform { try await client.send(request) }
      load.end(place, speaksHTTP2: response.version == .http2)
      let fault = WebPushFault(response.body)
      return .responded(
        PushResponse(
          status: Int(response.status.code), detail: fault.reason,
          retryAfter: response.retryAfter(now: clock()), isOfOtherKey: fault.isOfOtherKey))
    } catch {
      load.end(place, speaksHTTP2: nil)
      guard !place.isLost else { return .postponed }
      let error = error as? HTTPClientError
      return switch error?.code {
      case .cancelled: .cancelled
      case .forbiddenAddress, .invalidRequest: .forbidden(error?.message ?? "")
      default: .disconnected
      }
    }
  }

  private func request(
    _ push: LeasedPush, _ body: [UInt8], _ token: String, to subscription: WebPushSubscription
  ) -> OutgoingRequest {
    var fields = HeaderFields()
    // Without a blank behind the comma, which some push services don't expect there.
    fields.append(.authorization, "vapid t=\(token),k=\(publicKey)")
    fields.append(.contentEncoding, "aes128gcm")
    fields.append(.contentType, "application/octet-stream")
    fields.append(Self.timeToLive, String(push.secondsLeft(at: clock())))
    fields.append(Self.urgency, push.urgency == .low ? "low" : "high")
    if let key = push.collapseKey { fields.append(FieldName("Topic"), key) }
    return OutgoingRequest(.post, subscription.endpoint.text, fields: fields, body: body)
  }
}

/// The requests under way to push services and for users. As anybody may name many push services, few requests are made at
/// once to one that doesn't answer, to all such ones together, and for one account. When all places are taken, the user that
/// holds most of them loses one to a user that holds fewer.
final class PushServiceLoad: Sendable {
  /// The requests at once.
  static let all = 500
  /// The requests at once to a push service that doesn't speak HTTP/2, or hasn't answered the last one.
  private static let few = 2
  /// The requests at once to any other.
  private static let many = 100
  /// The requests at once to all push services together that haven't answered the last one.
  private static let doubtful = 100
  /// The requests at once for one account.
  private static let ofUser = 8

  /// The place of a request, which is lost if another user's needs it.
  struct Place: Sendable {
    fileprivate let service: String
    fileprivate let request: PushRequest
    fileprivate let holdings: [Holding<PushOwner>]

    /// True if the place was given to another user.
    var isLost: Bool { request.isLost }

    /// Does something that is cancelled when the place is lost.
    func perform<Value: Sendable>(
      _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      let task = Task { try await body() }
      request.begin { task.cancel() }
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  private let services = Lock<[String: Int]>([:])
  private let places = Budget<PushOwner>(capacity: all, share: ofUser)
  private let doubtfulPlaces = Budget<PushOwner>(capacity: doubtful, share: ofUser)
  /// The push services that have answered the last request, and whether over HTTP/2.
  private let answering = RecentValues<String, Bool>(limit: 4096)

  /// The figures of the places.
  var statistics: BudgetStatistics { places.statistics }

  /// Takes a place for a request, unless there are as many as may be.
  ///
  /// - Parameter user: the user whose device is pushed to.
  func begin(_ service: String, for user: PushOwner) -> Place? {
    let speaksHTTP2 = answering.value(for: service)
    let limit = speaksHTTP2 == true ? Self.many : Self.few
    let hasRoom = services.withLock { services in
      guard services[service, default: 0] < limit else { return false }
      services[service, default: 0] += 1
      return true
    }
    guard hasRoom else { return nil }
    let request = PushRequest()
    let budgets = speaksHTTP2 == nil ? [doubtfulPlaces, places] : [places]
    let holdings = budgets.map { budget in
      Holding(of: budget, for: user) { request.lose() }
    }
    guard holdings.allSatisfy({ $0.set(to: 1) }) else {
      leave(service)
      return nil
    }
    return Place(service: service, request: request, holdings: holdings)
  }

  /// Gives the place back of a request that wasn't made, which says nothing of the push service.
  func giveBack(_ place: Place) {
    for holding in place.holdings { _ = holding.set(to: 0) }
    leave(place.service)
  }

  /// Gives the place back of a request that was made.
  ///
  /// - Parameter speaksHTTP2: whether the push service has answered over HTTP/2, or nil if it hasn't answered.
  func end(_ place: Place, speaksHTTP2: Bool?) {
    giveBack(place)
    let before = answering.value(for: place.service)
    guard speaksHTTP2 != before else { return }
    if let speaksHTTP2 {
      answering.insert(speaksHTTP2, for: place.service)
    } else {
      answering.remove(place.service)
    }
  }

  private func leave(_ service: String) {
    services.withLock { services in
      services[service] = services[service].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
  }
}

/// A request that is cancelled when its place is lost, also before it has begun.
private final class PushRequest: Sendable {
  private let state = Lock<(isLost: Bool, cancel: (@Sendable () -> Void)?)>((false, nil))

  var isLost: Bool { state.withLock { $0.isLost } }

  func begin(_ cancel: @escaping @Sendable () -> Void) {
    let isLost = state.withLock { state in
      state.cancel = cancel
      return state.isLost
    }
    if isLost { cancel() }
  }

  func lose() {
    let cancel = state.withLock { state in
      state.isLost = true
      return state.cancel
    }
    cancel?()
  }
}

/// Who answers for this server's pushes to browsers, as each push says it (RFC 8292 section 2.1).
///
/// Apple refuses every push whose subject is missing, or whose host can't be one on the Internet.
struct VAPIDSubject: Sendable, Hashable {
  /// A subject of the right form that is nobody's.
  private static let placeholder = "mailto:nobody@example.com"
  private static let localDomains: Set<String> = [
    "local", "localhost", "invalid", "test", "lan", "home", "internal", "localdomain", "intranet",
    "arpa", "corp", "onion",
  ]

  /// The subject, which is always of the form that push services want.
  let text: String
  /// What is wrong with what the operator has set, or that nothing is; nil if all is well.
  let doubt: String?

  /// Chooses the contact that is configured, else the server's own URL, else something of the right form.
  init(contact: String?, publicURL: String?) {
    let isPublicURLGood = publicURL.map(Self.isValid) ?? false
    if let contact, Self.isValid(contact) {
      text = contact
      doubt = nil
    } else if let contact {
      text = isPublicURLGood ? publicURL ?? Self.placeholder : Self.placeholder
      doubt =
        "[push.web] contact \(contact) is not accepted by Apple (BadJwtToken), as its host is none "
        + "on the Internet: set an address such as mailto:you@example.org, or iPhones get no pushes "
        + "in your name"
    } else if let publicURL, isPublicURLGood {
      text = publicURL
      doubt = nil
    } else {
      text = Self.placeholder
      doubt =
        "[push.web] contact is not set, and public_url can't stand for it: Apple refuses pushes to "
        + "iPhones without one (BadJwtToken); set an address such as mailto:you@example.org"
    }
  }

  private static func isValid(_ text: String) -> Bool {
    let host: Substring
    if text.hasPrefix("mailto:") {
      // One address alone, without a name.
      guard let sign = text.lastIndex(of: "@"), !text.contains(where: { ",<>".contains($0) })
      else { return false }
      host = text[text.index(after: sign)...].prefix { $0 != "?" }
    } else if text.hasPrefix("https://") {
      host = text.dropFirst("https://".count).prefix { !"/:?#".contains($0) }
    } else {
      return false
    }
    let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 1, labels.allSatisfy({ !$0.isEmpty }), let last = labels.last,
      last.contains(where: \.isLetter)
    else { return false }
    return !localDomains.contains(String(last))
  }
}

/// The section `[push.web]`.
package struct WebPushConfiguration: Sendable {
  /// A `mailto:` or `https:` URL that a push service's operator may turn to, or nil for the server's own URL.
  let contact: String?
  /// Hosts and ports that may be reached although they aren't on the public Internet, or have another port than 443.
  let allowed: Set<HostAndPort>
  /// The path of a PEM file with the roots of those hosts' certificates, or an empty string for the system's.
  let roots: String
  /// The path of the key that pushes are signed with.
  package let key: String
  /// What push services will make of ``contact``, or of what stands in its place; nil if all is well.
  package let contactDoubt: String?
  /// True if there is neither a contact nor an own URL: nobody has said yet that browsers reach this server.
  package let isContactUnset: Bool

  /// Makes a configuration with all defaults.
  init(dataFolder: String) {
    contact = nil
    contactDoubt = nil
    isContactUnset = true
    allowed = []
    roots = ""
    key = Self.defaultKey(in: dataFolder)
  }

  private static func defaultKey(in folder: String) -> String { "\(folder)/msgr-web-push.pem" }

  /// Reads the section, and records its faults.
  init(_ section: ConfigurationSection) {
    contact = section.optionalValue("contact", expected: "a mailto: or https: URL") { text in
      guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
      // A scheme has no case, and push services want it in lower case.
      let scheme = text.prefix { $0 != ":" }.lowercased()
      return ["mailto", "https"].contains(scheme) && text.contains(":")
        ? scheme + text.dropFirst(scheme.count) : nil
    }
    let publicURL = section.publicURL?.description
    isContactUnset = contact == nil && publicURL == nil
    contactDoubt = VAPIDSubject(contact: contact, publicURL: publicURL).doubt
    allowed = Set(
      section.values(
        "allow", default: [HostAndPort](), expected: "a host such as push.lan:8443",
        parse: { HostAndPort($0, ownPort: PushEndpoint.ownPort) }))
    roots = section.path("ca", default: "")
    key = section.path("key", default: Self.defaultKey(in: section.dataFolder), relativeTo: .data)
  }
}

/// The file with the key that pushes to browsers are signed with: made once, never replaced, as subscriptions are bound to
/// it.
struct VAPIDKeyFile: Sendable {
  let path: String

  /// Reads the key, which is made if there is none; blocks on the disk.
  ///
  /// - Returns: the key, and whether it was made now.
  /// - Throws: ``PushSetupError`` that names the file and its fault.
  func open() throws(PushSetupError) -> (pair: P256KeyPair, isNew: Bool) {
    let isNew = unsafe access(path, F_OK) == 0 ? false : try make()
    return (try .read(from: path), isNew)
  }

  /// Makes the file, durably and whole.
  ///
  /// - Returns: whether it was made; otherwise another process was faster.
  private func make() throws(PushSetupError) -> Bool {
    guard var pem = (try? P256KeyPair())?.pem else {
      throw PushSetupError(message: "\(path): no key on P-256 can be made")
    }
    defer { wipe(&pem) }
    do throws(SystemError) {
      try DurableFile.makeFolder(DurableFile.folder(of: path))
      return try DurableFile.createOnce(path, pem, mode: 0o600)
    } catch { throw PushSetupError(message: "\(path) cannot be made: \(error)") }
  }
}

/// Returns the content of a file with a key, of 64 KiB at most; blocks on the disk.
///
/// - Throws: ``PushSetupError`` that names the file and its fault.
func contents(ofKeyFile path: String) throws(PushSetupError) -> [UInt8] {
  do throws(FileError) {
    return try contents(ofFile: path, limit: 64 << 10)
  } catch { throw PushSetupError(message: "\(path): \(error.message)") }
}

extension P256KeyPair {
  /// Reads a pair from a file; blocks on the disk.
  ///
  /// - Parameter path: the path of a PKCS #8 key on P-256 without a password in PEM, such as Apple's `.p8` files.
  /// - Throws: ``PushSetupError`` that names the file and its fault.
  package static func read(from path: String) throws(PushSetupError) -> P256KeyPair {
    var pem = try contents(ofKeyFile: path)
    defer { wipe(&pem) }
    do throws(P256KeyPair.Unusable) {
      return try P256KeyPair(pem: pem)
    } catch { throw PushSetupError(message: "\(path): no PEM key on P-256 without a password") }
  }
}
