import Testing

@testable import BLEStreams

@Suite struct SmallTableTests {
    /// Whatever is done to it, it has what a dictionary has.
    @Test func `it does what a dictionary does`() {
        var (table, model): (SmallTable<Int, Int>, [Int: Int]) = ([:], [:])
        var random: UInt64 = 1
        for step in 0..<2000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let key = Int(random >> 60)
            switch (random >> 40) % 4 {
            case 0: (table[key], model[key]) = (step, step)
            case 1: #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
            case 2: (table[key], model[key]) = (nil, nil)
            default:
                table[key, default: 100] += 1
                model[key, default: 100] += 1
            }
            #expect(table[key] == model[key])
            #expect(table.count == model.count && table.isEmpty == model.isEmpty)
            #expect(table.keys.sorted() == model.keys.sorted() && table.values.sorted() == model.values.sorted())
        }
        #expect(table.sorted { $0.key < $1.key }.map(\.value) == model.sorted { $0.key < $1.key }.map(\.value))
    }
}
