import BLESimulator
import Testing

@testable import BLEStreams

@Suite struct BacklogTests {
    @Test(arguments: 1...20) func `it does what a plain array would`(seed: UInt64) {
        var random = Chance(seed: seed)
        var (backlog, model) = (Backlog<Int>(), [Int]())
        for number in 0..<500 {
            // Bursts that are kept as they are, and smaller ones that aren't worth it.
            let several = (0..<random.below(20)).map { number * 100 + Int($0) }
            switch random.below(8) {
            case 0:
                backlog.append(number)
                model.append(number)
            case 1:
                backlog.append(contentsOf: several)
                model += several
            case 2:
                backlog.append(burst: several)
                model += several
            default:
                let expected = model.isEmpty ? nil : model.removeFirst()
                #expect(backlog.popFirst() == expected)
            }
            #expect(backlog.count == model.count)
            #expect(backlog.isEmpty == model.isEmpty)
            if backlog.isEmpty { backlog.shrink() }
        }
        var rest: [Int] = []
        while let next = backlog.popFirst() { rest.append(next) }
        #expect(rest == model)
    }

    @Test func `a burst is let go with its last value`() {
        final class Thing {}
        var backlog = Backlog<Thing>()
        weak var gone: Thing?
        do {
            let burst = (0..<10).map { _ in Thing() }
            gone = burst[0]
            backlog.append(burst: burst)
        }
        for _ in 0..<9 { _ = backlog.popFirst() }
        #expect(gone != nil)
        _ = backlog.popFirst()
        #expect(gone == nil)
    }
}
