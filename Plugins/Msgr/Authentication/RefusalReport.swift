internal import Formats
internal import Budgets
internal import Observability
internal import Platform

/// Reports failed logins and refused registrations to the operator: by reason in the metrics, and as lines of the log.
///
/// A network causes some lines a minute at most, so that one that knocks all the time doesn't fill the log. The metrics
/// count what the log leaves out.
final class RefusalReport: Sendable {
  /// The act that was refused.
  enum Act: Sendable {
    case login, registration
    /// The use of a token.
    case token
  }

  /// The lines of one network in a minute.
  private static let linesPerMinute = 30

  private let log: Log
  private let lines: AttemptTable
  private let logins: [RefusalReason: Counter]
  private let registrations: [RefusalReason: Counter]

  /// Registers the metrics.
  init(_ log: Log, _ metrics: Metrics, clock: @escaping @Sendable () -> Timestamp) {
    self.log = log
    lines = AttemptTable(span: .seconds(60), size: 1 << 12, clock: clock)
    let counters = { (name: StaticString, help: String) in
      RefusalReason.allCases.reduce(into: [RefusalReason: Counter]()) { counters, reason in
        counters[reason] = metrics.counter(name, help, ["reason": reason.rawValue])
      }
    }
    logins = counters("awd_msgr_refused_logins_total", "Refused logins")
    registrations = counters("awd_msgr_refused_registrations_total", "Refused registrations")
  }

  /// Counts a refusal, and logs it; ignores other errors.
  func record(_ error: any Error, _ act: Act, of name: UserName, from network: ClientNetwork?) {
    guard let reason = RefusalReason(error) else { return }
    (act == .registration ? registrations : logins)[reason]?.add()
    guard log.writes(.info), lines.count(network, upTo: Self.linesPerMinute) == nil else { return }
    log.info(
      act == .registration ? "registration refused" : "login refused",
      [
        "client": network.map { "\($0)" } ?? "unix", "name": name.text,
        "reason": reason.words(for: act),
      ])
  }
}

/// The reason of a refusal, as metrics name it.
enum RefusalReason: String, CaseIterable, Sendable {
  /// The password is wrong or there is no such name, or the name is taken.
  case forbidden
  /// The invitation isn't good.
  case invitation
  /// A limit is reached.
  case tooMany = "too many"
  /// Too many passwords wait.
  case busy

  /// Finds the reason in an error, or returns nil if that is no refusal of credentials.
  init?(_ error: any Error) {
    switch error {
    case RequestRefusal.forbidden: self = .forbidden
    case RequestRefusal.badInvitation: self = .invitation
    case RequestRefusal.tooMany: self = .tooMany
    case RequestRefusal.busy: self = .busy
    default: return nil
    }
  }

  /// Returns the reason in words for the log.
  fileprivate func words(for act: RefusalReport.Act) -> String {
    switch (self, act) {
    case (.forbidden, .login): "wrong name, password or signature"
    case (.forbidden, .token): "wrong token"
    case (.forbidden, .registration): "the name is taken"
    case (.invitation, _): "the invitation isn't good"
    case (.tooMany, .login), (.tooMany, .token): "too many failures"
    case (.tooMany, .registration): "too many accounts"
    case (.busy, _): "too many passwords wait"
    }
  }
}
