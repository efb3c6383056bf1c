import Testing

@testable import BLEStreams

@Suite struct RecencyTableTests {
    /// The same, with a list that is searched.
    private struct Model {
        var entries: [(key: Int, value: Int, seen: Duration)] = []

        mutating func remove(_ key: Int) -> Bool {
            let count = entries.count
            entries.removeAll { $0.key == key }
            return entries.count < count
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `it keeps the order in which keys were seen last, as a list that is searched does`(seed: UInt64) {
        var chance = Chance(seed: seed)
        var table = RecencyTable<Int, Int>()
        var model = Model()
        for step in 0..<500 {
            let key = Int(chance.next() % 8)
            let moment = Duration.seconds(step)
            switch chance.next() % 3 {
            case 0: #expect(table.remove(key) == model.remove(key))
            case 1:
                let isKnown = model.remove(key)
                if isKnown { model.entries.append((key, step, moment)) }
                #expect(table.renew(key, step, at: moment) == isKnown)
            default:
                guard !model.entries.contains(where: { $0.key == key }) else { continue }
                model.entries.append((key, step, moment))
                table.insert(key, step, at: moment)
            }
            #expect(table.count == model.entries.count)
            #expect(table.oldest?.key == model.entries.first?.key)
            #expect(table.oldest?.value == model.entries.first?.value)
            #expect(table.oldest?.seen == model.entries.first?.seen)
        }
    }
}
