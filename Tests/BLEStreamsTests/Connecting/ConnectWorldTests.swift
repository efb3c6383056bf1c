import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Whatever happens while a link is made, in whatever order: each who waits is answered once and in time, one thing is
/// under way at a time, and nothing is left of it.
@Suite struct ConnectWorldTests {
    private static func happen(in world: inout ConnectWorld) {
        let draw = world.chance.next()
        let number = Int(draw >> 33)
        switch draw % 20 {
        case 0, 1:
            let patience: [ConnectMachine.Patience] = [.none, .none, .withinLimit, .upTo(.seconds(600))]
            world.join(
                persists: number % 3 > 0,
                timeout: .seconds([1, 10, 30, 120][number % 4]),
                patience: patience[(number >> 4) % 4]
            )
        case 2: world.leave(number % max(1, world.fates.count))
        case 3...8: world.succeed()
        case 9...12: world.fail()
        case 13: world.passLimit()
        case 14: world.pass(whole: number % 4 == 0)
        case 15: world.pause()
        case 16, 17: world.resume()
        case 18: world.revoke()
        default: world.reportLate()
        }
    }

    private static func world(_ seed: UInt64) -> ConnectWorld {
        var world = ConnectWorld(seed: seed)
        world.join(persists: seed % 3 > 0, timeout: .seconds(30))
        for _ in 0..<(5 + seed % 100) where !world.isDone { happen(in: &world) }
        return world
    }

    private static func check(_ world: ConnectWorld, _ seed: UInt64) {
        #expect(world.breaches.isEmpty, "seed \(seed)")
        for fate in world.fates {
            #expect(fate.outcomes.count == (fate.hasLeft ? 0 : 1), "one who waits, seed \(seed)")
        }
        #expect(world.machine.waiters.isEmpty, "seed \(seed)")
        #expect(world.underWay == nil && world.turn == nil && world.alarm == nil, "something is left, seed \(seed)")
        #expect(!world.isWatched, "it is still watched, seed \(seed)")
        if world.machine.isLinked {
            #expect(world.told == .connected, "seed \(seed)")
            #expect(world.machine.users == world.fates.count { $0.outcomes == [.linked] }, "seed \(seed)")
        } else {
            #expect(world.told != .connecting && world.told != .connected, "seed \(seed)")
        }
    }

    @Test(arguments: 0..<8) func `a radio that does its part makes a link for all who wait`(part: UInt64) {
        for seed in (part * 500)..<(part * 500 + 500) {
            var world = Self.world(seed)
            if world.isPaused { world.resume() }
            // The longest way there is: two kinds, each step of it once, an adapter that is waited for.
            for _ in 0..<40 where !world.isDone { world.succeed() }
            #expect(world.isDone, "it stands still at \(world.underWay as Any), seed \(seed)")
            Self.check(world, seed)
        }
    }

    @Test(arguments: 0..<4) func `who waits is answered within its limit where nothing answers any more`(part: UInt64) {
        for seed in (part * 500)..<(part * 500 + 500) {
            var world = Self.world(seed)
            let ends = world.fates.filter(\.isWaiting).map { fate in
                fate.waiter.deadline + (fate.waiter.adapterLimit ?? .zero)
            }
            for _ in 0..<200 where !world.isDone { world.pass(whole: true) }
            #expect(world.isDone, "seed \(seed)")
            Self.check(world, seed)
            if let last = ends.max() { #expect(world.now <= last + .seconds(1_200), "seed \(seed)") }
        }
    }

    @Test(arguments: 0..<4) func `nothing is left when all have left`(part: UInt64) {
        for seed in (part * 500)..<(part * 500 + 500) {
            var world = Self.world(seed)
            for index in world.fates.indices { world.leave(index) }
            #expect(world.isDone, "seed \(seed)")
            Self.check(world, seed)
        }
    }
}
