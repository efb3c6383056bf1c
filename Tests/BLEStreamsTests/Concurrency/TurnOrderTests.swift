import BLERadio
import Testing

@Suite struct TurnOrderTests {
    @Test func `urgency comes first, and within one urgency who came first`() {
        var order = TurnOrder()
        var names: [TurnOrder.ID: Int] = [:]
        for (name, urgency) in [(1, 0), (2, -10), (3, 10), (4, 0), (5, 10)] {
            names[order.add(urgency: urgency)] = name
        }
        var turns: [Int?] = []
        while let id = order.admit() {
            turns.append(names[id])
            #expect(order.admit() == nil)
            order.remove(id)
        }
        #expect(turns == [3, 5, 1, 4, 2])
    }

    @Test func `one that is taken out never has a turn`() {
        var order = TurnOrder()
        let (first, second, third) = (order.add(), order.add(), order.add())
        #expect(order.admit() == first)
        order.remove(second)
        order.remove(first)
        #expect(order.admit() == third)
    }

    @Test func `as many have a turn side by side as the width says, and who has had it longest comes first`() {
        var order = TurnOrder(width: 2)
        let all = (0..<4).map { _ in order.add() }
        #expect(order.admit(now: .seconds(1)) == all[0] && order.admit(now: .seconds(2)) == all[1])
        #expect(order.next == nil && order.admit(now: .seconds(3)) == nil)
        order.remove(all[0])
        #expect(order.next == all[2] && order.admit(now: .seconds(4)) == all[2])
        #expect(order.inside.map(\.id) == [all[1], all[2]] && order.inside.map(\.since) == [.seconds(2), .seconds(4)])
        #expect(order.waiting.map(\.id) == [all[3]])
    }

    @Test func `nobody who has a turn is overtaken, and taking out again does nothing`() {
        var order = TurnOrder()
        let slow = order.add(urgency: -1)
        #expect(order.admit() == slow)
        let urgent = order.add(urgency: 1)
        #expect(order.admit() == nil && order.isInside(slow) && !order.isInside(urgent))
        order.remove(slow)
        #expect(order.admit() == urgent)
        order.remove(slow)
        #expect(order.isInside(urgent))
    }
}
