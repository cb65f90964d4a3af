internal import CommandsResources
internal import Platform
internal import Observability
internal import WebApps

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
        ("Process", ["process"]), ("Connections", ["http", "websocket"]), ("Store", ["store"]),
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
