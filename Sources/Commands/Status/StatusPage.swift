internal import Observability
internal import Pages

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
    let state =
      reasons.isEmpty
      ? "<span class=\"state served\">ready</span>"
      : "<span class=\"state refused\">not ready</span>"
    let facts = [
      state, "awd <strong>\(version)</strong>",
      "up <strong>\(StatusQuantity.text(uptime / .seconds(1), of: "_seconds"))</strong>",
      services.isEmpty
        ? "no service is on"
        : "services <strong>\(services.joined(separator: ", ").htmlEscaped)</strong>",
    ]
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="refresh" content="\(Self.refresh)">
      <title>\(reasons.isEmpty ? "" : "Not ready – ")awd status</title>
      <style>\(PageStyle.status.text)</style>
      </head>
      <body>
      <div class="page">
      <header>
      <div>
      <h1>Status</h1>
      <ul class="counts">
      \(facts.map { "<li>\($0)</li>" }.joined(separator: "\n"))
      </ul>
      </div>
      </header>
      <main>
      \(trouble)\(sections)</main>
      <footer>
      <span>The last \(StatusQuantity.text(span / .seconds(1), of: "_seconds")), \
      updated every \(Self.refresh) s</span>
      <a href="/metrics">Metrics</a>
      <a href="/readyz">Readiness</a>
      <a href="/version">Version</a>
      </footer>
      </div>
      </body>
      </html>

      """
  }

  private var trouble: String {
    guard !reasons.isEmpty else { return "" }
    let items = reasons.map { "<li>\($0.htmlEscaped)</li>" }.joined(separator: "\n")
    return "<ul class=\"panel reasons\">\n\(items)\n</ul>\n"
  }

  /// A heading and cards for each part of the program: first the server's own, then the services.
  private var sections: String {
    let parts =
      [("Process", ["process"]), ("Connections", ["http", "websocket"]), ("Store", ["store"])]
      + services.map { ($0, [$0]) }
    return parts.map { title, names in
      let cards = names.flatMap { name in
        history.filter { $0.name.hasPrefix("awd_\(name)_") && !$0.isQuiet }.map(card)
      }
      guard !cards.isEmpty else { return "" }
      return """
        <section>
        <h2>\(title.htmlEscaped)</h2>
        <ul class="cards">
        \(cards.joined(separator: "\n"))
        </ul>
        </section>

        """
    }.joined()
  }

  private func card(_ series: MetricHistory.Series) -> String {
    let labels = series.labels.map(\.value).joined(separator: ", ")
    let title = (labels.isEmpty ? series.help : "\(series.help): \(labels)").htmlEscaped
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
    let plot = Sparkline(values: series.values, capacity: capacity, label: "Plot of \(title)")
    return """
      <li class="panel"><h3>\(title)</h3>
      <p class="value">\(value)</p>
      <p class="more quiet">\(more)</p>
      \(plot.svg)</li>
      """
  }
}

extension MetricHistory.Series {
  /// True if it counts events that haven't happened.
  fileprivate var isQuiet: Bool { kind != .level && total == 0 }
}
