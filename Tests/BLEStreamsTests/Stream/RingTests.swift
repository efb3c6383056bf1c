import BLESimulator
import Testing

@testable import BLEStreams

@Suite struct RingTests {
    @Test(arguments: 1...20) func `it does what a plain array would`(seed: UInt64) {
        var random = Chance(seed: seed)
        var (ring, model) = (Ring<Int>(), [Int]())
        for number in 0..<500 {
            switch random.below(5) {
            case 0...2:
                ring.append(number)
                model.append(number)
            case 3:
                #expect(ring.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            default:
                ring.replaceLast(with: -number)
                if !model.isEmpty { model[model.count - 1] = -number }
            }
            #expect(ring.count == model.count)
            #expect(ring.isEmpty == model.isEmpty)
            #expect(ring.first == model.first)
            #expect(ring.last == model.last)
        }
        #expect(ring.elements == model)
    }

    @Test func `an element that was taken is kept no longer`() {
        final class Thing {}
        var ring = Ring<Thing>()
        weak var gone: Thing?
        do {
            let thing = Thing()
            gone = thing
            ring.append(thing)
        }
        #expect(gone != nil)
        _ = ring.popFirst()
        #expect(gone == nil)
        #expect(ring.capacity > 0)
    }
}
