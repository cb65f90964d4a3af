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
