internal import CommandsResources
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import Routing
internal import ServiceKit
internal import WebApps

/// The routes of the status page.
struct StatusRoutes: Sendable {
  private static let interval = Duration.seconds(5)
  private static let capacity = 120

  private let history = MetricHistory(
    // A series for each route would be too many to look at.
    interval: interval, capacity: capacity, summingOver: ["route", "method"])
  private let start = ContinuousClock.now
  /// The services that are on.
  let services: [String]
  /// The metrics to show.
  let metrics: Metrics

  /// Records the metrics at even intervals, until cancelled.
  func run() async {
    while !Task.isCancelled {
      history.record(metrics.samples())
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// Makes the router of the page.
  ///
  /// - Parameters:
  ///   - access: decides which requests are answered.
  ///   - isAlone: whether the listener is there for the operator alone. Then `/` redirects to the page.
  func router(
    for access: OperatorAccess, isAlone: Bool, reasons: @escaping @Sendable () async -> [String]
  ) -> Router {
    var router = Router(service: Product.name)
    router.get(StatusPage.path) { request, _ in
      try access.check(request)
      let page = StatusPage(
        version: Product.version, uptime: ContinuousClock.now - start, services: services,
        reasons: await reasons(), history: history.series, capacity: Self.capacity,
        span: min(ContinuousClock.now - start, Self.interval * Self.capacity), now: .now())
      var response = Response(page: page.html, .status)
      response.fields.append(.cacheControl, "no-store")
      return response
    }
    if isAlone {
      router.get("/") { _, _ in
        var response = Response(.seeOther)
        response.fields.append(.location, StatusPage.path)
        return response
      }
    }
    return router
  }
}

/// The server's state as an HTML document for its operator. It needs no script.
struct StatusPage {
  /// The path of the page.
  static let path = "/status"
  /// The interval in which browsers reload the page, in seconds.
  private static let refresh = 5

  /// The program's version.
  let version: String
  /// The time since the start.
  let uptime: Duration
  /// The services that are on.
  let services: [String]
  /// The reasons why the server isn't ready; none if it is.
  let reasons: [String]
  /// The course of each metric.
  let history: [MetricHistory.Series]
  /// The number of values of each metric that are kept.
  let capacity: Int
  /// The time that these values cover.
  let span: Duration
  /// The present time.
  let now: Timestamp

  /// The document.
  var html: String {
    Self.template.html([
      "refresh": "\(Self.refresh)", "style": PageStyle.status.text, "isReady": reasons.isEmpty,
      "version": version, "uptime": StatusQuantity.text(uptime / .seconds(1), of: "_seconds"),
      "services": services.joined(separator: ", "),
      "reasons": reasons.map { ["reason": $0] as PageTemplate.Values }, "sections": sections,
      "span": StatusQuantity.text(span / .seconds(1), of: "_seconds"),
    ])
  }

  private static let template = PageTemplate(Resource(commands_status_html()).bytes)

  /// A heading and cards for each part of the program: first the server's own, then the services.
  private var sections: [PageTemplate.Values] {
    let parts =
      [
        ("Process", ["process"]), ("Disk, backup and certificate", ["disk", "backup", "tls"]),
        ("Connections", ["http", "websocket"]), ("Store", ["store"]),
        ("Pushes", ["push"]),
      ] + services.map { ($0, [$0]) }
    return parts.compactMap { title, names in
      let cards = names.flatMap { name in
        history.filter { $0.name.hasPrefix("awd_\(name)_") && !$0.isQuiet }.map(card)
      }
      return cards.isEmpty ? nil : ["title": title, "cards": cards]
    }
  }

  private func card(_ series: MetricHistory.Series) -> PageTemplate.Values {
    let labels = series.labels.map(\.value).joined(separator: ", ")
    let title = labels.isEmpty ? series.help : "\(series.help): \(labels)"
    let name = series.name
    let value: String
    let more: String
    switch series.kind {
    case .level where name.hasSuffix("_timestamp_seconds"):
      let moment = series.values.last ?? nil
      value = StatusQuantity.distance(of: moment, from: now)
      more = StatusQuantity.text(moment, of: name)
    case .level:
      value = StatusQuantity.text(series.values.last ?? nil, of: name)
      more = "most \(StatusQuantity.text(series.values.compactMap(\.self).max(), of: name))"
    case .rate:
      value = "\(StatusQuantity.text(series.values.last ?? nil, of: name))<small>/s</small>"
      more = "\(StatusQuantity.text(series.total, of: name)) since the start"
    case .quantile:
      let all = series.distribution
      value = "\(StatusQuantity.text(all?.quantile(0.99), of: name)) <small>p99</small>"
      more =
        "p50 \(StatusQuantity.text(all?.quantile(0.5), of: name)), "
        + "\(StatusQuantity.text(Double(all?.count ?? 0), of: "")) times"
    }
    let plot = Sparkline(
      values: series.values, capacity: capacity, label: "Plot of \(title.htmlEscaped)")
    return ["title": title, "value": value, "more": more, "plot": plot.svg]
  }
}

extension MetricHistory.Series {
  /// True if it counts events that haven't happened.
  fileprivate var isQuiet: Bool { kind != .level && total == 0 }
}

extension PageStyle {
  /// The style of the status page.
  static let status = PageStyle(Resource(commands_status_css()).bytes)
}

/// Writes numbers with their units for people.
enum StatusQuantity {
  /// Writes a value.
  ///
  /// - Parameters:
  ///   - value: the value, or nil if there is none.
  ///   - name: the metric's name. Its end names the unit.
  /// - Returns: text such as `12`, `3.4 ms`, `1.2 MB`, or `–` for no value.
  static func text(_ value: Double?, of name: String) -> String {
    guard let value, value.isFinite else { return "–" }
    if name.hasSuffix("_timestamp_seconds") {
      return value > 0 ? String("\(Timestamp(seconds: Int64(value)))".prefix(10)) : "–"
    }
    if name.hasSuffix("_seconds") { return duration(value) }
    if name.hasSuffix("_bytes") || name.hasSuffix("_bytes_total") {
      return scaled(value, ["B", "kB", "MB", "GB", "TB"])
    }
    return value < 10_000 ? rounded(value) : scaled(value, ["", "k", "M", "G", "T"])
  }

  /// Writes how far a moment is away.
  ///
  /// - Parameter moment: seconds since 1970, or 0 or nil if there is no such moment.
  /// - Returns: text such as `in 89 d` or `3.2 h ago`, or `never`.
  static func distance(of moment: Double?, from now: Timestamp) -> String {
    guard let moment, moment.isFinite, moment > 0 else { return "never" }
    let seconds = moment - Double(now.seconds)
    return seconds > 0 ? "in \(duration(seconds))" : "\(duration(-seconds)) ago"
  }

  private static func duration(_ seconds: Double) -> String {
    switch abs(seconds) {
    case 0: "0 s"
    case ..<0.001: "\(rounded(seconds * 1e6)) µs"
    case ..<1: "\(rounded(seconds * 1e3)) ms"
    case ..<120: "\(rounded(seconds)) s"
    case ..<7200: "\(rounded(seconds / 60)) min"
    case ..<172_800: "\(rounded(seconds / 3600)) h"
    default: "\(rounded(seconds / 86_400)) d"
    }
  }

  private static func scaled(_ value: Double, _ units: [String]) -> String {
    var value = value
    var unit = 0
    while abs(value) >= 1000, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    return units[unit].isEmpty ? rounded(value) : "\(rounded(value)) \(units[unit])"
  }

  /// Rounds to an integer, or to tenths below 100.
  private static func rounded(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    guard abs(tenths) < 1000, !tenths.isMultiple(of: 10) else { return "\(Int(value.rounded()))" }
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }
}

/// A small plot of a number over time, as SVG. The newest value is at the right edge.
struct Sparkline {
  private static let width = 240.0
  private static let height = 44.0
  private static let margin = 3.0

  /// The values, oldest first; nil stands for a missing one.
  let values: [Double?]
  /// The number of values that the whole width has room for.
  let capacity: Int
  /// A description for those who don't see the plot.
  let label: String

  /// The element: a line through the values, over an area down to zero.
  var svg: String {
    let highest = values.compactMap(\.self).filter(\.isFinite).max() ?? 0
    let step = Self.width / Double(max(1, capacity - 1))
    let first = capacity - values.count
    var lines: [[(x: Double, y: Double)]] = [[]]
    for (index, value) in values.enumerated() {
      guard let value, value.isFinite else {
        lines.append([])
        continue
      }
      let share = highest > 0 ? max(0, value) / highest : 0
      lines[lines.count - 1].append(
        (Double(first + index) * step, Self.margin + (1 - share) * (Self.height - 2 * Self.margin)))
    }
    let shapes = lines.filter { !$0.isEmpty }.map { points in
      let text = points.map { "\(Self.number($0.x)),\(Self.number($0.y))" }.joined(separator: " ")
      let bottom = Self.number(Self.height)
      let area =
        "\(Self.number(points[0].x)),\(bottom) \(text) "
        + "\(Self.number(points[points.count - 1].x)),\(bottom)"
      return "<polygon points=\"\(area)\"/><polyline points=\"\(text)\"/>"
    }
    return """
      <svg viewBox="0 0 \(Self.number(Self.width)) \(Self.number(Self.height))" \
      preserveAspectRatio="none" role="img" aria-label="\(label)">\(shapes.joined())</svg>
      """
  }

  /// Writes a number with one digit behind the point, which is less than a pixel.
  private static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
