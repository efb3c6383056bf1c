import Testing

@testable import BLEStreams

@Suite struct QueueOrderTests {
    @Test func `priorities come first, and within one of them who came first`() {
        var order = QueueOrder()
        for (id, priority) in [(1, CommandPriority.normal), (2, .low), (3, .high), (4, .normal), (5, .high)] {
            order.add(id, priority)
        }
        var turns: [Int] = []
        while let id = order.beginNext() {
            turns.append(id)
            #expect(order.beginNext() == nil)
            order.remove(id)
        }
        #expect(turns == [3, 5, 1, 4, 2])
    }

    @Test func `one that is taken out never has a turn`() {
        var order = QueueOrder()
        order.add(1, .normal)
        order.add(2, .normal)
        order.add(3, .normal)
        #expect(order.beginNext() == 1)
        order.remove(2)
        order.remove(1)
        #expect(order.beginNext() == 3)
    }
}
