import BLESimulator

/// What a plan is drawn from. Each part of a world has its own, so that one can go without changing the others.
struct Chance {
    private var random: SeededRandom

    init(_ seed: UInt64, _ stream: UInt64) {
        var root = SeededRandom(seed: seed ^ (stream &* 0x2545_F491_4F6C_DD1D))
        random = SeededRandom(seed: root.next())
    }

    /// A number from 0 to one less than `bound`.
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &random) }

    mutating func within(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    /// Whether it happens, once in so many times.
    mutating func onceIn(_ count: Int) -> Bool { below(count) == 0 }

    mutating func any<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func seconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(within(range.lowerBound * 1000...range.upperBound * 1000))
    }
}
