internal import Glibc

/// An SVG plot of latencies: percentiles of each method at the top, all calls over time at the bottom.
///
/// The latency axes are logarithmic. One run may have calls of a tenth of a millisecond and password hashing.
struct Plot {
  struct Curve {
    var name: String
    var points: [(percentile: Double, micros: Double)]
  }

  var title: String
  /// The curves. The plot draws at most one for each colour.
  var curves: [Curve]
  var seconds: [Interval]

  init(title: String, curves: [Curve], seconds: [Interval]) {
    self.title = title
    self.curves = curves
    self.seconds = seconds
  }

  /// Creates a plot of the most frequent methods.
  init(title: String, _ recorder: Recorder) {
    let made = recorder.calls.filter { $0.ok > 0 }.sorted { $0.ok > $1.ok }
    self.init(
      title: title, curves: made.map { Curve(name: $0.name, points: $0.latencies.curve) }, seconds: recorder.seconds)
  }

  /// The colours of Okabe and Ito, which are distinguishable with any kind of colour vision.
  private static let colours = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999",
  ]
  private static let width = 960
  private static let height = 760

  var svg: String {
    let drawn = Array(curves.filter { !$0.points.isEmpty }.prefix(Plot.colours.count))
    var parts = [
      #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(Plot.width) \#(Plot.height)" "#
        + #"font-family="sans-serif" font-size="13">"#,
      #"<rect width="100%" height="100%" fill="white"/>"#,
      text(title, x: 70, y: 30, size: 16),
    ]
    parts += percentiles(drawn)
    parts += overTime()
    return parts.joined(separator: "\n") + "\n</svg>\n"
  }

  // MARK: The two panels

  private func percentiles(_ curves: [Curve]) -> [String] {
    let nines = curves.flatMap(\.points).map { Plot.nines($0.percentile) }.max() ?? 1
    let marks = [0, 50, 90, 99, 99.9, 99.99, 99.999].filter { Plot.nines($0) <= nines + 0.05 }
    let panel = Panel(
      top: 60, xRange: 0...max(1, nines), xMarks: marks.map { (Plot.nines($0), Plot.label($0)) },
      yRange: Plot.decades(curves.flatMap(\.points).map(\.micros)), xTitle: "percentile of calls (%)")
    var parts = panel.frame
    for (index, curve) in curves.enumerated() {
      let points = curve.points.map { panel.point(Plot.nines($0.percentile), $0.micros) }
      parts.append(line(points, Plot.colours[index]))
      parts += legend(curve.name, Plot.colours[index], x: 700, y: panel.top + 14 + 18 * Double(index))
    }
    return parts
  }

  private func overTime() -> [String] {
    let series: [(name: String, value: KeyPath<Interval, Double>)] = [
      ("p50 by second", \.p50Micros), ("p99 by second", \.p99Micros), ("maximum by second", \.maxMicros),
    ]
    // A second without responses has no latency and leaves a gap in the line.
    let answered = seconds.filter { $0.ok > 0 }
    let last = (seconds.last?.startSeconds ?? 0) + 1
    let step = Plot.step(last)
    let marks = stride(from: 0, through: last, by: step).map { ($0, fixed($0, digits: 0)) }
    let panel = Panel(
      top: 420, xRange: 0...last, xMarks: marks,
      yRange: Plot.decades(answered.flatMap { [$0.p50Micros, $0.maxMicros] }), xTitle: "time since the warm-up (s)")
    var parts = panel.frame
    for (index, each) in series.enumerated() {
      for run in seconds.split(whereSeparator: { $0.ok == 0 }) {
        let points = run.map { panel.point($0.startSeconds + 0.5, $0[keyPath: each.value]) }
        parts.append(line(points, Plot.colours[index]))
        if let point = points.first, points.count == 1 { parts.append(dot(point, Plot.colours[index])) }
      }
      parts += legend(each.name, Plot.colours[index], x: 700, y: panel.top + 14 + 18 * Double(index))
    }
    return parts
  }

  private func legend(_ name: String, _ colour: String, x: Double, y: Double) -> [String] {
    [line([(x, y), (x + 24, y)], colour), text(name, x: x + 32, y: y + 4)]
  }

  // MARK: Scales

  /// Returns the number of nines of a percentile: 90 % is 1, 99 % is 2, 50 % is 0.3.
  private static func nines(_ percentile: Double) -> Double { -log10(max(1e-9, 1 - percentile / 100)) }

  private static func label(_ percentile: Double) -> String {
    percentile == percentile.rounded() ? fixed(percentile, digits: 0) : "\(percentile)"
  }

  /// Returns the powers of ten that enclose the values.
  private static func decades(_ micros: [Double]) -> ClosedRange<Double> {
    let least = log10(max(0.1, micros.min() ?? 1)).rounded(.down)
    let most = log10(max(0.1, micros.max() ?? 1)).rounded(.up)
    return least...max(least + 1, most)
  }

  /// Returns the distance between marks in seconds: a round number, for at most ten marks.
  private static func step(_ seconds: Double) -> Double {
    [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800].first { seconds / $0 <= 10 } ?? 3_600
  }
}

/// A panel with axes. The vertical axis is latency.
private struct Panel {
  let top: Double
  let xRange: ClosedRange<Double>
  let xMarks: [(value: Double, label: String)]
  /// Exponents of ten, in microseconds.
  let yRange: ClosedRange<Double>
  let xTitle: String

  private let left = 70.0
  private let width = 610.0
  private let height = 270.0

  func point(_ x: Double, _ micros: Double) -> (x: Double, y: Double) {
    let y = (log10(max(0.1, micros)) - yRange.lowerBound) / (yRange.upperBound - yRange.lowerBound)
    return (column(x), top + height * (1 - min(1, max(0, y))))
  }

  private func column(_ x: Double) -> Double {
    left + width * (x - xRange.lowerBound) / (xRange.upperBound - xRange.lowerBound)
  }

  var frame: [String] {
    let bottom = top + height
    var parts = [
      #"<rect x="\#(left)" y="\#(top)" width="\#(width)" height="\#(height)" fill="none" stroke="dimgray"/>"#,
      text(xTitle, x: left + width / 2, y: bottom + 40, anchor: "middle"),
      #"<g transform="rotate(-90 20 \#(top + height / 2))">"#
        + text("latency (ms)", x: 20, y: top + height / 2, anchor: "middle") + "</g>",
    ]
    for mark in xMarks {
      let x = column(mark.value)
      parts.append(grid((x, top), (x, bottom)))
      parts.append(text(mark.label, x: x, y: bottom + 18, anchor: "middle"))
    }
    for power in Int(yRange.lowerBound)...Int(yRange.upperBound) {
      for factor in [1.0, 2, 5] {
        let micros = pow(10, Double(power)) * factor
        guard log10(micros) <= yRange.upperBound + 1e-9 else { continue }
        let (_, y) = point(xRange.lowerBound, micros)
        parts.append(grid((left, y), (left + width, y)))
        parts.append(text(Panel.label(micros / 1_000), x: left - 8, y: y + 4, anchor: "end"))
      }
    }
    return parts
  }

  private static func label(_ millis: Double) -> String {
    let digits = millis >= 1 ? 0 : millis >= 0.1 ? 1 : millis >= 0.01 ? 2 : millis >= 0.001 ? 3 : 4
    return fixed(millis, digits: digits)
  }

  private func grid(_ from: (Double, Double), _ to: (Double, Double)) -> String {
    #"<line x1="\#(rounded(from.0))" y1="\#(rounded(from.1))" x2="\#(rounded(to.0))" y2="\#(rounded(to.1))" "#
      + #"stroke="lightgray"/>"#
  }
}

// MARK: SVG elements

private func line(_ points: [(x: Double, y: Double)], _ colour: String) -> String {
  let path = points.map { "\(rounded($0.x)),\(rounded($0.y))" }.joined(separator: " ")
  return #"<polyline points="\#(path)" fill="none" stroke="\#(colour)" stroke-width="2"/>"#
}

private func dot(_ point: (x: Double, y: Double), _ colour: String) -> String {
  #"<circle cx="\#(rounded(point.x))" cy="\#(rounded(point.y))" r="3" fill="\#(colour)"/>"#
}

private func text(_ text: String, x: Double, y: Double, anchor: String = "start", size: Int = 13) -> String {
  let escaped = text.map { character in
    switch character {
    case "&": "&amp;"
    case "<": "&lt;"
    case ">": "&gt;"
    default: String(character)
    }
  }.joined()
  let place = #"x="\#(rounded(x))" y="\#(rounded(y))""#
  return #"<text \#(place) text-anchor="\#(anchor)" font-size="\#(size)">\#(escaped)</text>"#
}

private func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
