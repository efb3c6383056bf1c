import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Whatever happens on a link, in whatever order: each operation ends once, each consumer too, and nothing is left.
@Suite struct MachineWorldTests {
    private static let targets: [LinkMachine.Target] = [
        .find(.uuid(MachineWorld.heartRate, service: nil)),
        .find(.uuid(MachineWorld.absent, service: nil)),
        .characteristic(.uuid(MachineWorld.heartRate, service: nil), anyOf: .read) {
            ReadValue(handle: $0.valueHandle)
        },
        .characteristic(.uuid(MachineWorld.secret, service: nil), anyOf: .read) { ReadValue(handle: $0.valueHandle) },
        .characteristic(.uuid(MachineWorld.heartRate, service: nil), anyOf: .write) {
            WriteValue(handle: $0.valueHandle, value: [1])
        },
        .characteristic(.uuid(MachineWorld.heartRate, service: nil), anyOf: .extendedProperties) {
            ReadValue(handle: $0.valueHandle)
        },
        .handles(ReadValue(handle: 3)),
        .handles(ReadByUUID(MachineWorld.secret)),
        .database,
        .hold,
        .aside(ExchangeMTU()),
    ]

    private static func notifying(_ number: Int) -> BluetoothUUID {
        number % 2 == 0 ? MachineWorld.heartRate : MachineWorld.secret
    }

    private static func happen(in world: inout MachineWorld) {
        let draw = world.chance.next()
        let number = Int(draw >> 32)
        switch draw % 24 {
        case 0...4:
            let pass = number % 3 == 0 ? world.holds.last : nil
            world.begin(targets[number % targets.count], pass: pass)
        case 5: world.fates.keys.sorted().dropFirst(number % max(1, world.fates.count)).first.map { world.cancel($0) }
        case 6, 7:
            world.subscribe(to: number % 2 == 0 ? MachineWorld.heartRate : MachineWorld.secret)
        case 8: if !world.consumers.isEmpty { world.unsubscribe(number % world.consumers.count) }
        case 9: world.leaveHold()
        case 10...13: world.transmit(hasRoom: number % 5 > 0)
        case 14: world.makeRoom()
        case 15...18: world.arrive()
        case 19: world.notify(notifying(number))
        case 20: if number % 4 == 0 { world.change() }
        case 21:
            let error = BLEError(.timedOut, operation: "secure link", object: "", cause: "nobody answered")
            world.raise([.done, .failed(error), .declined][number % 3])
        case 22:
            if number % 2 == 0 { world.endWait() } else { world.step { machine, output in machine.forget(&output) } }
        default: world.drain()
        }
    }

    private static func check(_ world: MachineWorld, _ seed: UInt64) {
        for (id, fate) in world.fates {
            #expect(fate.results.count == (fate.isCancelled ? 0 : 1), "operation \(id) of seed \(seed)")
        }
        for story in world.stories.values {
            #expect(!story.isHaunted, "a value behind the end, seed \(seed)")
            let rising = zip(story.values, story.values.dropFirst()).allSatisfy { $0 < $1 }
            #expect(rising, "values out of order or twice, seed \(seed): \(story.values)")
        }
        #expect(
            world.machine.operations.isEmpty && world.machine.purposes.isEmpty,
            "seed \(seed): \(world.machine.operations.map(\.stage)), turn \(world.machine.turn)"
        )
        #expect(world.machine.raising.isEmpty && world.isRaising.isEmpty, "seed \(seed)")
    }

    private static func world(_ seed: UInt64) -> MachineWorld {
        var world = MachineWorld(seed: seed, isResumed: seed % 5 == 0)
        if seed % 3 == 0 { world.machine.demands[.uuid(MachineWorld.secret, service: nil)] = .encrypted }
        for _ in 0..<(20 + seed % 200) { happen(in: &world) }
        return world
    }

    @Test(arguments: 0..<8) func `a link that stays comes to rest with nothing left`(part: UInt64) {
        for seed in (part * 250)..<(part * 250 + 250) {
            var world = Self.world(seed)
            world.settle()
            Self.check(world, seed)
            #expect(world.machine.lane.beginHold().isGranted, "the lane is free, seed \(seed)")
            for story in world.stories.values { #expect(story.ends.count <= 1, "seed \(seed)") }
        }
    }

    @Test(arguments: 0..<8) func `a link that ends ends everything once`(part: UInt64) {
        for seed in (part * 250)..<(part * 250 + 250) {
            var world = Self.world(seed)
            world.step { machine, output in
                _ = machine.ended(DisconnectReason(.supervisionTimeout), &output)
            }
            let failure = BLEError(.disconnected, operation: "secure link", object: "", cause: "the link is over")
            while !world.isRaising.isEmpty { world.raise(.failed(failure)) }
            while !world.drains.isEmpty { world.drain() }
            Self.check(world, seed)
            for story in world.stories.values {
                #expect(story.ends.count == (story.isTakenBack ? 0 : 1), "a consumer of seed \(seed)")
            }
            #expect(world.machine.subscriptions.isEmpty && world.machine.routes.isEmpty, "seed \(seed)")
            world.begin(.database)
            world.subscribe(to: MachineWorld.heartRate)
            Self.check(world, seed)
        }
    }

    @Test(arguments: 0..<4) func `a link that this side closes switches everything off first`(part: UInt64) {
        for seed in (part * 250)..<(part * 250 + 250) {
            var world = Self.world(seed)
            world.step { machine, output in machine.unsubscribeAll(&output) }
            for story in world.stories.values {
                #expect(story.ends.count + (story.isTakenBack ? 1 : 0) == 1, "a consumer of seed \(seed)")
            }
            world.settle()
            #expect(!world.machine.wantsQuiet, "it was told that all is off, seed \(seed)")
            #expect(!world.machine.table.isBusy && world.machine.leaving == 0, "seed \(seed)")
            Self.check(world, seed)
        }
    }
}
