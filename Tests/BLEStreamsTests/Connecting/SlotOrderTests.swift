import Testing

@testable import BLEStreams

@Suite struct SlotOrderTests {
    private static func order(refusing ids: ClosedRange<Int>, by adapters: Set<Int> = [0]) -> SlotOrder {
        var order = SlotOrder()
        for id in ids {
            #expect(order.begin(id, with: UInt64(id), on: adapters, at: .zero).isEmpty && !order.isHeld(id))
            #expect(order.refused(id, by: adapters, at: .zero).isEmpty)
        }
        return order
    }

    @Test func `who was refused first has the next slot, and others are held back until its link is ready`() {
        var order = Self.order(refusing: 1...2)
        #expect(order.nextEnd == nil)
        #expect(order.unlinked(from: 9, by: 0, at: .seconds(5)) == [1] && order.hasTurn(1))
        _ = order.begin(9, with: 9, on: [0], at: .seconds(6))
        _ = order.begin(1, with: 1, on: [0], at: .seconds(6))
        _ = order.begin(2, with: 2, on: [0], at: .seconds(6))
        #expect(order.isHeld(9) && !order.isHeld(1) && order.isHeld(2))
        order.linked(to: 1, by: 0)
        #expect(Set(order.leave(1, at: .seconds(7))) == [2, 9] && !order.isHeld(9) && !order.isHeld(2))
        #expect(!order.hasTurn(2) && order.nextEnd == nil)
    }

    @Test func `a turn without a link goes to the next, and who had it waits for a refusal`() {
        var order = Self.order(refusing: 1...2)
        _ = order.unlinked(from: 9, by: 0, at: .zero)
        #expect(order.timePassed(.seconds(9)).isEmpty)
        #expect(order.timePassed(SlotOrder.turn) == [2] && order.hasTurn(2) && !order.hasTurn(1))
        order.linked(to: 2, by: 0)
        #expect(order.leave(2, at: .seconds(12)).isEmpty)
        #expect(order.unlinked(from: 2, by: 0, at: .seconds(20)).isEmpty)
        _ = order.refused(1, by: [0], at: .zero)
        #expect(order.unlinked(from: 8, by: 0, at: .seconds(30)) == [1])
    }

    @Test func `a refusal in a turn costs the turn, and not the place; one more tries`() {
        var order = Self.order(refusing: 1...3)
        _ = order.unlinked(from: 9, by: 0, at: .zero)
        _ = order.begin(9, with: 9, on: [0], at: .zero)
        #expect(order.refused(1, by: [0], at: .zero) == [2] && !order.hasTurn(1) && order.isHeld(9))
        #expect(order.refused(2, by: [0], at: .zero) == [9])
        #expect(!order.hasTurn(1) && !order.hasTurn(2) && !order.hasTurn(3))
        #expect(order.unlinked(from: 9, by: 0, at: .seconds(1)) == [1])
    }

    @Test func `a slot that is not used is passed on, one in use is not`() {
        var order = Self.order(refusing: 1...3)
        _ = order.unlinked(from: 9, by: 0, at: .zero)
        #expect(order.leave(1, at: .zero) == [2])
        order.linked(to: 2, by: 0)
        #expect(order.leave(2, at: .zero).isEmpty && !order.hasTurn(3))
        order = Self.order(refusing: 1...3)
        _ = order.unlinked(from: 9, by: 0, at: .zero)
        order.linked(to: 1, by: 0)
        #expect(order.timePassed(SlotOrder.turn).isEmpty && !order.hasTurn(2))
    }

    @Test func `who isn't heard keeps the place, and has no turn before it is refused again`() {
        var order = Self.order(refusing: 1...3)
        #expect(order.missed(1, at: .zero).isEmpty)
        #expect(order.unlinked(from: 9, by: 0, at: .zero) == [2])
        _ = order.begin(9, with: 9, on: [0], at: .zero)
        #expect(order.missed(2, at: .zero) == [3] && !order.hasTurn(2) && order.isHeld(9))
        #expect(order.missed(3, at: .zero) == [9] && !order.hasTurn(3))
        for id in [3, 1, 2] { #expect(order.refused(id, by: [0], at: .zero).isEmpty) }
        for id in 1...3 { #expect(order.unlinked(from: 9, by: 0, at: .zero) == [id]) }
    }

    @Test func `a link that isn't ready in time ends the place`() {
        var order = Self.order(refusing: 1...2)
        order.linked(to: 1, by: 0)
        #expect(order.missed(1, at: .zero).isEmpty)
        #expect(order.unlinked(from: 1, by: 0, at: .zero) == [2])
        _ = order.refused(2, by: [0], at: .zero)
        _ = order.begin(1, with: 1, on: [0], at: .zero)
        _ = order.refused(1, by: [0], at: .zero)
        #expect(order.unlinked(from: 9, by: 0, at: .zero) == [2])
        order = Self.order(refusing: 1...2)
        order.linked(to: 1, by: 0)
        // That link was never established, and the next attempt made none.
        _ = order.begin(1, with: 1, on: [0], at: .zero)
        _ = order.missed(1, at: .zero)
        _ = order.refused(1, by: [0], at: .zero)
        #expect(order.unlinked(from: 9, by: 0, at: .zero) == [1])
    }

    @Test func `of whoever has left nothing is kept`() {
        var order = Self.order(refusing: 1...4)
        for id in 5...6 { _ = order.unlinked(from: UInt64(id), by: 0, at: .zero) }
        for id in 5...6 { _ = order.begin(id, with: UInt64(id), on: [0], at: .zero) }
        for id in 1...6 {
            #expect(!order.isEmpty)
            _ = order.leave(id, at: .zero)
        }
        #expect(order.isEmpty && order.nextEnd == nil)
    }

    @Test func `a link that was never ready leaves the slot to the same one until its turn is over`() {
        var order = Self.order(refusing: 1...2)
        _ = order.unlinked(from: 9, by: 0, at: .zero)
        order.linked(to: 1, by: 0)
        #expect(order.unlinked(from: 1, by: 0, at: .seconds(1)).isEmpty && order.hasTurn(1) && !order.hasTurn(2))
        #expect(order.timePassed(SlotOrder.turn) == [2])
    }

    @Test func `joined adapters have their own slots`() {
        var order = SlotOrder()
        for (id, adapters) in [(1, [0]), (2, [0, 1]), (3, [1])] as [(Int, Set<Int>)] {
            _ = order.begin(id, with: UInt64(id), on: adapters, at: .zero)
            _ = order.refused(id, by: adapters, at: .zero)
        }
        #expect(order.unlinked(from: 9, by: 1, at: .zero) == [2])
        // Neither waits for a slot of the other adapter.
        for (id, adapters) in [(7, [0]), (8, []), (9, [1])] as [(Int, Set<Int>)] {
            _ = order.begin(id, with: UInt64(id), on: adapters, at: .zero)
        }
        #expect(!order.isHeld(7) && !order.isHeld(8) && order.isHeld(9))
        #expect(order.unlinked(from: 8, by: 1, at: .zero) == [3])
        #expect(order.unlinked(from: 7, by: 0, at: .zero) == [1])
    }

    @Test func `who has a turn, and gets a link by another joined adapter, leaves the slot to the next`() {
        var order = Self.order(refusing: 1...2)
        #expect(order.unlinked(from: 9, by: 0, at: .zero) == [1])
        order.linked(to: 1, by: 1)
        #expect(order.leave(1, at: .zero) == [2])
    }

    @Test func `nobody is held back for longer than a turn lasts`() {
        var order = Self.order(refusing: 1...9)
        _ = order.unlinked(from: 20, by: 0, at: .zero)
        _ = order.begin(20, with: 20, on: [0], at: .seconds(8))
        #expect(order.timePassed(.seconds(10)) == [2] && order.isHeld(20))
        #expect(order.timePassed(.seconds(18)) == [20] && !order.isHeld(20))
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `with all in range, slots go in the order of the refusals, whatever happens`(_ seed: UInt64) {
        var world = SlotWorld(sessions: 12, slots: 1 + Int(seed % 4), seed: seed)
        world.live(for: .seconds(5_000))
        #expect(world.breaches.isEmpty, "seed \(seed): \(world.breaches.prefix(3))")
        #expect(world.links > 20)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `with some that come and go, nobody in range waits for more than a few rounds`(_ seed: UInt64) {
        var world = SlotWorld(sessions: 12, slots: 1 + Int(seed % 4), mobile: 5, seed: seed)
        world.live(for: .seconds(5_000))
        #expect(world.breaches.isEmpty, "seed \(seed): \(world.breaches.prefix(3))")
        #expect(world.mostPassed <= 36, "seed \(seed): \(world.mostPassed) slots went to others")
    }
}
