import BLEStreams
import Glibc

/// A plot that grows downwards: a line for each value, with a point at its place on a scale.
///
/// The scale has round ends and grows as values require; each time, it is drawn again. The plot is as wide as the
/// terminal, or 80 columns if there is none.
final class Plot {
    private var scale: ClosedRange<Double>?

    /// The smallest width of the field for the point.
    private static let narrowest = 12

    /// The line of a value, below the scale if that has changed; a value without a number has no point.
    func line(
        _ value: CharacteristicValue,
        _ style: ValueStyle,
        named name: String,
        for columns: Int?
    ) -> String {
        let head = "\(name)\(value.time.clockText)  "
        // Of a value whose meaning is known, the octets are no number of their own: an unknown one would be far off.
        let found: Double? = if let decoded = style.decoded(value) { decoded.firstNumber } else { value.integer }
        guard let number = found else {
            return head + style.text(of: value)
        }
        let figure = number.plainText
        let cell = String(repeating: " ", count: max(0, 8 - figure.count)) + figure + "  "
        var (lines, shown) = ([String](), head + cell)
        let columns = columns ?? 80
        if columns - shown.count <= Self.narrowest {
            // Too narrow: the point gets a line of its own.
            lines = [String(head.dropLast(2))]
            shown = "  " + cell
        }
        let width = max(Self.narrowest, columns - shown.count - 1)
        if let grown = Self.grown(scale, by: number) {
            scale = grown
            lines.append(String(repeating: " ", count: shown.count) + Self.ends(of: grown, width))
        }
        lines.append(shown + Self.row(number, scale ?? number...number, width))
        return lines.joined(separator: "\n")
    }

    /// The scale that a value requires; `nil` if it fits on the current one.
    static func grown(_ scale: ClosedRange<Double>?, by number: Double) -> ClosedRange<Double>? {
        if let scale, scale.contains(number) { return nil }
        let low = min(scale?.lowerBound ?? number, number)
        let high = max(scale?.upperBound ?? number, number)
        // Leave some room, in steps of a power of ten, so that not each value changes the scale.
        let spread = max(high - low, number == 0 ? 1 : abs(number) / 10)
        let step = pow(10, log10(spread).rounded(.down))
        let start = ((low - spread / 4) / step).rounded(.down) * step
        let end = ((high + spread / 4) / step).rounded(.up) * step
        // Values that are never negative start at zero.
        return (low >= 0 ? max(0, start) : start)...end
    }

    private static func ends(of scale: ClosedRange<Double>, _ width: Int) -> String {
        let (low, high) = (scale.lowerBound.plainText, scale.upperBound.plainText)
        let gap = width - low.count - high.count
        return gap > 0 ? low + String(repeating: " ", count: gap) + high : low
    }

    private static func row(_ number: Double, _ scale: ClosedRange<Double>, _ width: Int) -> String {
        let spread = scale.upperBound - scale.lowerBound
        let place = spread > 0 ? Int((number - scale.lowerBound) / spread * Double(width - 1)) : 0
        return String(repeating: "─", count: min(max(0, place), width - 1)) + "●"
    }
}

extension CharacteristicValue {
    /// One, two or four octets as an unsigned number, least significant octet first; `nil` for other lengths.
    fileprivate var integer: Double? {
        guard [1, 2, 4].contains(count) else { return nil }
        return Double(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
