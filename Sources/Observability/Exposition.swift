// Metrics and their text format. Catalogue.swift lists every metric. CallMetrics.swift counts the call path and
// ServerMetrics.swift rarer events. MetricsRegistry.swift is the swift-metrics backend that combines them.
// MetricsEndpoint.swift serves them over HTTP.

/// A metric family of the text format: one metric with all its series.
package struct MetricFamily: Hashable, Sendable {
  package enum Kind: String, Sendable {
    case counter
    case gauge
    case histogram
  }

  package let name: String
  package let kind: Kind
  /// Help text; empty if unknown.
  package let help: String

  package init(_ name: String, _ kind: Kind, _ help: String = "") {
    self.name = name
    self.kind = kind
    self.help = help
  }
}

/// The labels of one series, formatted once as in the text format: `code="OK",method="a/B"`.
package struct Labels: Hashable, Sendable {
  package static let none = Labels([])

  package let text: String

  /// Sorts the labels by name, so that equal labels are the same series. Keeps the first of duplicate names, because a
  /// scraper would reject the whole text.
  package init(_ labels: [(String, String)]) {
    var values: [String: String] = [:]
    for (name, value) in labels {
      let name = Exposition.labelName(name)
      if values[name] == nil { values[name] = value }
    }
    text = values.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(Exposition.escaped($0.value))\"" }
      .joined(separator: ",")
  }

  package func and(_ more: String) -> String { text.isEmpty ? more : text + "," + more }
}

/// The current value of a series.
package enum Reading: Hashable, Sendable {
  case number(Double)
  case histogram(HistogramReading)

  package static func count(_ count: Int) -> Reading { .number(Double(count)) }
}

package struct HistogramReading: Hashable, Sendable {
  /// Upper bounds of the buckets; a further bucket contains all larger values.
  var bounds: [Double]
  /// Counts per bucket, not cumulative.
  var counts: [Int]
  var sum: Double
}

/// The Prometheus text format, version 0.0.4.
package struct Exposition {
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  package private(set) var text = ""

  package mutating func append(_ family: MetricFamily, _ series: [(labels: Labels, reading: Reading)]) {
    if !family.help.isEmpty { text += "# HELP \(family.name) \(Exposition.escapedHelp(family.help))\n" }
    text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
    for (labels, reading) in series {
      switch reading {
      case .number(let value): line(family.name, labels.text, value)
      case .histogram(let histogram): append(histogram, of: family.name, labels)
      }
    }
  }

  /// Appends a histogram. The count is the sum of the buckets, so that both agree even during concurrent updates.
  private mutating func append(_ histogram: HistogramReading, of name: String, _ labels: Labels) {
    var total = 0
    for (index, count) in histogram.counts.enumerated() {
      total += count
      let bound = index < histogram.bounds.count ? Exposition.number(histogram.bounds[index]) : "+Inf"
      line(name + "_bucket", labels.and("le=\"\(bound)\""), Double(total))
    }
    line(name + "_sum", labels.text, histogram.sum)
    line(name + "_count", labels.text, Double(total))
  }

  private mutating func line(_ name: String, _ labels: String, _ value: Double) {
    text += name
    if !labels.isEmpty { text += "{" + labels + "}" }
    text += " " + Exposition.number(value) + "\n"
  }

  package static func number(_ value: Double) -> String {
    if let whole = Int(exactly: value) { return String(whole) }
    if value.isNaN { return "NaN" }
    guard value.isFinite else { return value > 0 ? "+Inf" : "-Inf" }
    return "\(value)"
  }

  package static func escaped(_ value: String) -> String {
    guard value.utf8.contains(where: { $0 == 0x0a || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
      return value
    }
    return value.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\n": text += "\\n"
      case "\"", "\\": text += "\\\(scalar)"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }

  static func escapedHelp(_ help: String) -> String {
    help.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\n": text += "\\n"
      case "\\": text += "\\\\"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }

  /// Replaces characters that the format does not allow with underscores. swift-metrics accepts any text as a name.
  static func metricName(_ name: String) -> String { legal(name, alsoTaking: ":") }

  /// Returns a valid label name. `le` is reserved for histogram buckets, and a `__` prefix for Prometheus.
  static func labelName(_ name: String) -> String {
    let legal = legal(name, alsoTaking: "_")
    return legal == "le" || legal.hasPrefix("__") ? "label_" + legal : legal
  }

  private static func legal(_ name: String, alsoTaking extra: Unicode.Scalar) -> String {
    var legal = ""
    for scalar in name.unicodeScalars {
      let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_" || scalar == extra
      let isDigit = ("0"..."9").contains(scalar)
      if isDigit, legal.isEmpty { legal += "_" }
      legal.unicodeScalars.append(isLetter || isDigit ? scalar : "_")
    }
    return legal.isEmpty ? "_" : legal
  }
}
