internal import Observability
internal import Testing

@Suite struct MetricHistoryTests {
  private let metrics = Metrics()
  private let history = MetricHistory(interval: .seconds(2), capacity: 3, summingOver: ["cause"])

  private func series(_ name: String) -> MetricHistory.Series? {
    history.series.first { $0.name == name }
  }

  @Test func aTotalIsShownAsItsGrowthInASecond() {
    let counter = metrics.counter("awd_x_total", "X.")
    for step in [UInt64(5), 10, 0, 4, 2] {
      counter.add(step)
      history.record(metrics.samples())
    }
    #expect(series("awd_x_total")?.values == [0, 2, 1])
    #expect(series("awd_x_total")?.total == 21)
    #expect(series("awd_x_total")?.kind == .rate)
  }

  @Test func aLevelIsShownAsItIs() {
    metrics.gauge("awd_y", "Y.") { 7 }
    for _ in 0..<5 { history.record(metrics.samples()) }
    #expect(series("awd_y")?.values == [7, 7, 7])
  }

  @Test func whatDiffersInThoseLabelsIsSummedUp() {
    for (service, cause) in [("a", "1"), ("a", "2"), ("b", "1")] {
      metrics.counter("awd_z_total", "Z.", ["service": service, "cause": cause]).add(1)
    }
    history.record(metrics.samples())
    let found = history.series.map { ($0.labels.map(\.value), $0.total) }
    #expect(found.map(\.0) == [["a"], ["b"]] && found.map(\.1) == [2, 1])
  }

  @Test func aDistributionIsShownByItsQuantiles() {
    let histogram = metrics.histogram("awd_t_seconds", "T.", bounds: [.seconds(1), .seconds(2)])
    history.record(metrics.samples())
    for _ in 0..<100 { histogram.observe(.milliseconds(1500)) }
    history.record(metrics.samples())
    history.record(metrics.samples())
    #expect(series("awd_t_seconds")?.values == [1.99, nil])
    #expect(series("awd_t_seconds")?.distribution?.count == 100)
  }

  @Test(
    arguments: [
      ([0, 0, 0], 0.5, nil), ([2, 0, 0], 0.5, 0.5), ([2, 2, 0], 0.75, 2), ([0, 0, 4], 0.1, 3),
      ([1, 0, 1], 0.5, 1),
    ] as [([UInt64], Double, Double?)])
  func quantiles(_ counts: [UInt64], _ share: Double, _ value: Double?) {
    #expect(Distribution(bounds: [1, 3], counts: counts, sum: 0).quantile(share) == value)
  }

  @Test func whatIsRenderedIsWhatWasCounted() {
    metrics.histogram("awd_u_seconds", "U.") {
      Distribution(bounds: [0.5, 1], counts: [1, 2, 3], sum: 9.5)
    }
    #expect(
      metrics.render() == """
        # HELP awd_u_seconds U.
        # TYPE awd_u_seconds histogram
        awd_u_seconds_bucket{le="0.5"} 1
        awd_u_seconds_bucket{le="1"} 3
        awd_u_seconds_bucket{le="+Inf"} 6
        awd_u_seconds_sum 9.5
        awd_u_seconds_count 6

        """)
  }
}
