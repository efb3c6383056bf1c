import BLERadio
import Testing

@Suite struct ObserversTests {
    @Test func `they stand in the order in which they came, whoever has left`() {
        var observers = Observers<String>()
        let ids = ["a", "b", "c", "d"].map { observers.add($0) }
        #expect(observers.remove(ids[1]) == "b")
        let last = observers.add("e")
        #expect(observers.all == ["a", "c", "d", "e"] && observers.count == 4)
        #expect(observers.remove(ids[0]) == "a" && observers.remove(last) == "e")
        #expect(observers.all == ["c", "d"])
    }

    @Test func `a number is never used again`() {
        var observers = Observers<String>()
        let first = observers.add("a")
        #expect(observers.removeAll() == ["a"] && observers.isEmpty)
        let second = observers.add("b")
        #expect(second != first)
        #expect(observers.remove(first) == nil && observers[first] == nil)
        #expect(observers.all == ["b"])
    }

    @Test func `a number means nobody in a table that has taken the place of another`() {
        var (former, latter) = (Observers<String>(), Observers<String>())
        let id = former.add("a")
        _ = latter.add("b")
        #expect(latter.remove(id) == nil && latter.all == ["b"])
    }

    @Test func `whoever is taken out is handed back, to be let go elsewhere`() {
        final class Witness: Sendable {}
        var observers = Observers<Witness>()
        weak var witness: Witness?
        let id = {
            let new = Witness()
            witness = new
            return observers.add(new)
        }()
        var removed = observers.remove(id)
        #expect(witness != nil && observers.isEmpty)
        withExtendedLifetime(removed) {}
        removed = nil
        #expect(witness == nil)
    }

    @Test func `one can be changed in its place, and some taken out by what they are`() {
        var observers = Observers<Int>()
        let ids = (1...6).map { observers.add($0) }
        observers[ids[2]] = 30
        observers[ids[3]] = nil
        #expect(observers[ids[2]] == 30 && observers.all == [1, 2, 30, 5, 6])
        observers.updateEach { $0 *= 10 }
        #expect(observers.removeAll { $0 < 30 } == [10, 20])
        #expect(observers.all == [300, 50, 60])
    }

    @Test func `it does as a plain list does, whatever is added and taken out`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            var (observers, list) = (Observers<Int>(), [(id: Int, value: Int)]())
            for value in 0..<200 {
                if Bool.random(using: &generator), let some = list.randomElement(using: &generator) {
                    #expect(observers.remove(some.id) == some.value)
                    list.removeAll { $0.id == some.id }
                } else {
                    list.append((observers.add(value), value))
                }
                #expect(observers.all == list.map(\.value))
            }
        }
    }
}
