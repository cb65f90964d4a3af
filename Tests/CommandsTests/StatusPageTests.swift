internal import Observability
internal import Platform
internal import TestSupport
internal import Testing

@testable import Commands

@Suite struct StatusPageTests {
  @Test(
    arguments: [
      (nil, "x", "–"), (.nan, "x", "–"), (0, "x", "0"), (12.34, "x", "12.3"), (999.9, "x", "1000"),
      (9_999, "x", "9999"), (12_345, "x", "12.3 k"), (0, "t_seconds", "0 s"),
      (0.000_05, "t_seconds", "50 µs"), (0.0034, "t_seconds", "3.4 ms"), (90, "t_seconds", "90 s"),
      (600, "t_seconds", "10 min"), (90_000, "t_seconds", "25 h"), (999, "m_bytes", "999 B"),
      (1_500_000, "m_bytes_total", "1.5 MB"), (0, "x_timestamp_seconds", "–"),
      (1_700_000_000, "x_timestamp_seconds", "2023-11-14"),
    ] as [(Double?, String, String)])
  func quantities(_ value: Double?, _ name: String, _ text: String) {
    #expect(StatusQuantity.text(value, of: name) == text)
  }

  @Test func momentsAreToldByTheirDistance() {
    let now = Timestamp(seconds: 1_700_000_000)
    #expect(StatusQuantity.distance(of: 1_707_689_600, from: now) == "in 89 d")
    #expect(StatusQuantity.distance(of: 1_699_988_480, from: now) == "3.2 h ago")
    #expect(StatusQuantity.distance(of: 0, from: now) == "never")
    #expect(StatusQuantity.distance(of: nil, from: now) == "never")
  }

  @Test func theLastBackupIsToldByItsDistanceAndDate() {
    let metrics = Metrics()
    let history = MetricHistory(interval: .seconds(1), capacity: 3, summingOver: [])
    metrics.gauge("awd_backup_last_timestamp_seconds", "Last backup") { 1_700_000_000 }
    history.record(metrics.samples())
    let html = StatusPage(
      version: "1", uptime: .seconds(1), services: [], reasons: [], history: history.series,
      capacity: 3, span: .seconds(1), now: Timestamp(seconds: 1_700_003_600)
    ).html
    #expect(html.contains("60 min ago") && html.contains("2023-11-14"))
  }

  @Test func aPlotHasGapsWhereThereWereNoValues() {
    let svg = Sparkline(values: [nil, 1, 2, nil, .infinity, 2], capacity: 7, label: "a &amp; b").svg
    #expect(svg.split(separator: "<polyline ").count == 3)
    #expect(svg.contains("<polyline points=\"80,22 120,3\"/>"))
    #expect(svg.contains("aria-label=\"a &amp; b\""))
    #expect(!Sparkline(values: [], capacity: 7, label: "").svg.contains("poly"))
  }

  @Test func troublesComeFirstAndAreEscaped() {
    let page = StatusPage(
      version: "1", uptime: .seconds(1), services: ["msgr"], reasons: ["store: <full>"],
      history: [], capacity: 3, span: .seconds(1), now: .now())
    #expect(page.html.contains("not ready") && page.html.contains("store: &lt;full&gt;"))
  }

  @Test func countsOfTroublesThereWereNoneOfAreLeftOut() {
    let metrics = Metrics()
    let history = MetricHistory(interval: .seconds(1), capacity: 3, summingOver: [])
    metrics.counter("awd_store_failures_total", "Writes that failed.").add(0)
    metrics.counter("awd_store_writes_total", "Writes made durable.").add(1)
    history.record(metrics.samples())
    let html = StatusPage(
      version: "1", uptime: .seconds(1), services: [], reasons: [], history: history.series,
      capacity: 3, span: .seconds(1), now: .now()
    ).html
    #expect(html.contains("Writes made durable") && !html.contains("Writes that failed"))
  }
}
