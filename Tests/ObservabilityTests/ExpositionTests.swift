import Testing

@testable import Observability

@Test func `the text has the Prometheus format, with help, type, labels and cumulative buckets`() {
  var exposition = Exposition()
  exposition.append(
    MetricFamily("http_requests_total", .counter, "Requests."),
    [
      (Labels([("method", "post"), ("code", "200")]), .count(1_027)), (Labels([("code", "400")]), .number(3)),
    ])
  exposition.append(MetricFamily("temperature", .gauge), [(.none, .number(-1.5))])
  exposition.append(
    MetricFamily("took_seconds", .histogram, "How long."),
    [
      (.none, .histogram(HistogramReading(bounds: [0.05, 1], counts: [3, 0, 2], sum: 7.25))),
      (Labels([("to", "a")]), .histogram(HistogramReading(bounds: [0.05, 1], counts: [0, 0, 0], sum: 0))),
    ])
  exposition.append(MetricFamily("empty", .gauge, "Nothing yet."), [])
  #expect(
    exposition.text == """
      # HELP http_requests_total Requests.
      # TYPE http_requests_total counter
      http_requests_total{code="200",method="post"} 1027
      http_requests_total{code="400"} 3
      # TYPE temperature gauge
      temperature -1.5
      # HELP took_seconds How long.
      # TYPE took_seconds histogram
      took_seconds_bucket{le="0.05"} 3
      took_seconds_bucket{le="1"} 3
      took_seconds_bucket{le="+Inf"} 5
      took_seconds_sum 7.25
      took_seconds_count 5
      took_seconds_bucket{to="a",le="0.05"} 0
      took_seconds_bucket{to="a",le="1"} 0
      took_seconds_bucket{to="a",le="+Inf"} 0
      took_seconds_sum{to="a"} 0
      took_seconds_count{to="a"} 0
      # HELP empty Nothing yet.
      # TYPE empty gauge

      """)
}

@Test(arguments: [
  (0.0, "0"), (1, "1"), (-3, "-3"), (0.1, "0.1"), (1e-9, "1e-09"), (9_007_199_254_740_992, "9007199254740992"),
  (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
])
func `a number is written in the syntax of the format`(number: Double, text: String) {
  #expect(Exposition.number(number) == text)
}

@Test(arguments: [
  ("plain é", "plain é"), ("a\"b", "a\\\"b"), ("a\\b", "a\\\\b"), ("a\nb", "a\\nb"), ("\\n", "\\\\n"), ("", ""),
])
func `a label's value is escaped`(value: String, text: String) {
  #expect(Labels([("a", value)]).text == "a=\"\(text)\"")
}

@Test func `a help text keeps quotation marks, and escapes backslashes and line ends`() {
  #expect(Exposition.escapedHelp("a\\b\nsays \"c\"") == "a\\\\b\\nsays \"c\"")
}

@Test(arguments: [
  ("db.pool-size", "db_pool_size"), ("a:b", "a:b"), ("9lives", "_9lives"), ("größe", "gr__e"), ("", "_"),
  ("a b", "a_b"),
])
func `a metric's name has only characters that the format allows`(name: String, legal: String) {
  #expect(Exposition.metricName(name) == legal)
}

@Test(arguments: [
  ("a.b", "a_b"), ("a:b", "a_b"), ("le", "label_le"), ("__name__", "label___name__"), ("_a", "_a"),
])
func `a label's name has only characters that the format allows, and is not reserved`(name: String, legal: String) {
  #expect(Labels([(name, "x")]).text == legal + "=\"x\"")
}

@Test func `labels are the same in any order, and a name twice keeps its first value`() {
  #expect(Labels([("b", "2"), ("a", "1")]) == Labels([("a", "1"), ("b", "2")]))
  #expect(Labels([("a", "1"), ("a", "2")]).text == "a=\"1\"")
  // Two labels with the same name would make a scraper reject the whole text.
  #expect(Labels([("a.b", "1"), ("a_b", "2")]).text == "a_b=\"1\"")
}

@Test func `every metric of the server has a unique name in the form of its kind, and a help text`() {
  let names = Catalogue.all.map(\.name)
  #expect(Set(names).count == names.count)
  for family in Catalogue.all {
    #expect(Exposition.metricName(family.name) == family.name)
    #expect((family.kind == .counter) == family.name.hasSuffix("_total"), "\(family.name)")
    #expect(family.help.hasSuffix("."), "\(family.name)")
  }
}
