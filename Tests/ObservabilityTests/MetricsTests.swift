internal import Observability
internal import Testing

@Suite struct MetricsTests {
  @Test func textFormat() {
    let metrics = Metrics()
    metrics.gauge("awd_open", "Open\nthings \\ all.") { 2.5 }
    let sent = metrics.counter("awd_sent_total", "Sent.", ["to": "a\"b\\c\nd"])
    sent.add()
    sent.add(2)
    let statuses = metrics.counters(
      "awd_answers_total", "Answers.", ["route": "/"], by: "status", 100...599)
    statuses.add(200)
    statuses.add(200)
    statuses.add(404)
    statuses.add(600)
    let latency = metrics.histogram(
      "awd_wait_seconds", "Waits.", ["service": "x"], bounds: [.milliseconds(10), .seconds(1)])
    for wait in [Duration.milliseconds(10), .milliseconds(500), .seconds(2)] {
      latency.observe(wait)
    }
    metrics.counter("awd_read_total", "Read elsewhere.") { .infinity }

    #expect(
      metrics.render() == """
        # HELP awd_answers_total Answers.
        # TYPE awd_answers_total counter
        awd_answers_total{route="/",status="200"} 2
        awd_answers_total{route="/",status="404"} 1
        # HELP awd_open Open\\nthings \\\\ all.
        # TYPE awd_open gauge
        awd_open 2.5
        # HELP awd_read_total Read elsewhere.
        # TYPE awd_read_total counter
        awd_read_total +Inf
        # HELP awd_sent_total Sent.
        # TYPE awd_sent_total counter
        awd_sent_total{to="a\\"b\\\\c\\nd"} 3
        # HELP awd_wait_seconds Waits.
        # TYPE awd_wait_seconds histogram
        awd_wait_seconds_bucket{service="x",le="0.01"} 1
        awd_wait_seconds_bucket{service="x",le="1"} 2
        awd_wait_seconds_bucket{service="x",le="+Inf"} 3
        awd_wait_seconds_sum{service="x"} 2.51
        awd_wait_seconds_count{service="x"} 3

        """)
  }

  @Test func theSameNameAndLabelsAreTheSameCounter() {
    let metrics = Metrics()
    #expect(
      metrics.counter("a_total", "", ["x": "1"]) === metrics.counter("a_total", "", ["x": "1"]))
    #expect(
      metrics.counter("a_total", "", ["x": "1"]) !== metrics.counter("a_total", "", ["x": "2"]))
  }

  @Test func nothingIsLostBetweenThreads() async {
    let counter = Metrics().counter("a_total", "")
    await withTaskGroup { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { counter.add() } } }
    }
    #expect(counter.value == 80_000)
  }
}
