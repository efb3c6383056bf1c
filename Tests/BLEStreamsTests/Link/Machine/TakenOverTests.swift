import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// A program takes over the link of one that was killed: whether the peer is still sending is asked before it is
/// subscribed to.
@Suite struct TakenOverTests {
    /// What may make the handles mean something else before the peer has answered.
    enum Doubt: CaseIterable {
        case serviceChanged, outOfSync
    }

    /// A world in which the question about the heart rate is about to be sent, or nothing is.
    private static func taken(wasSubscribed: Bool) throws -> MachineWorld {
        var world = MachineWorld(seed: 1)
        if wasSubscribed { world.subscribe(to: MachineWorld.heartRate) }
        world.begin(.database)
        world.settle()
        let database = try #require(world.machine.tracker.current)
        let found = try #require(database.characteristic(MachineWorld.heartRate, in: nil))
        let handle = try #require(found.clientConfiguration?.handle)
        world.takeOver()
        world.subscribe(to: MachineWorld.heartRate)
        let question = [0x0A, UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
        for _ in 0..<1000 {
            if world.outgoing?.pdu == question { return world }
            if world.outgoing != nil { world.transmit() } else { world.arrive() }
        }
        Issue.record("the peer was not asked")
        return world
    }

    private static func mayLack(_ world: MachineWorld) -> Bool { world.stories.values.contains(where: \.mayLack) }

    @Test(arguments: [false, true]) func `the peer tells whether it is still sending`(wasSubscribed: Bool) throws {
        var world = try Self.taken(wasSubscribed: wasSubscribed)
        world.settle()
        #expect(Self.mayLack(world) == wasSubscribed)
        world.notify(MachineWorld.heartRate)
        world.settle()
        #expect(world.stories.values.map(\.values) == [[1]])
    }

    @Test(arguments: Doubt.allCases)
    func `a peer whose services may have changed before it has answered is still taken to send`(
        _ doubt: Doubt
    ) throws {
        var world = try Self.taken(wasSubscribed: true)
        switch doubt {
        case .serviceChanged:
            world.step { machine, output in machine.servicesChanged(in: 0x0001...0xFFFF, &output) }
        case .outOfSync:
            let outgoing = try #require(world.outgoing)
            world.outgoing = nil
            world.step { machine, output in machine.handedOver(outgoing, .sent, &output) }
            world.arriving.append([0x01, 0x0A, outgoing.pdu[1], outgoing.pdu[2], 0x12])
        }
        world.settle()
        #expect(Self.mayLack(world) && world.stories.values.allSatisfy(\.ends.isEmpty))
        #expect(world.machine.operations.isEmpty)
    }
}
