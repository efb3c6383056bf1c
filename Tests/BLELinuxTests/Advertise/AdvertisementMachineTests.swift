import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct AdvertisementMachineTests {
    private typealias Machine = AdvertisementMachine
    private typealias Output = AdvertisementMachine.Output

    private static let request = AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))
    private static let central = BluetoothAddress.example
    private static let busy = ManagementFailure.status(.busy, .addAdvertising)
    private static let refused = ManagementFailure.status(.invalidParameters, .addAdvertising)

    private let payload: AdvertisingPayload

    init() throws { payload = try AdvertisingPayload(Self.request, for: try AdvertisingFeatures.make()) }

    private func choosing() -> Machine {
        var machine = Machine(Self.request)
        #expect(machine.begin() == Output(command: .readFeatures))
        return machine
    }

    /// Lets one that asks for the features have a number.
    private func claim(_ machine: inout Machine, _ instance: UInt8 = 5) throws {
        let features = try AdvertisingFeatures.make()
        #expect(machine.featuresRead(.success(features)) == Output(command: .claim([5, 4, 3, 2, 1])))
        #expect(machine.claimed(instance) == Output(command: .add(instance, payload)))
    }

    private func onAir() throws -> Machine {
        var machine = choosing()
        try claim(&machine)
        #expect(machine.added(nil) == Output(report: .started))
        #expect(machine.instance == 5)
        return machine
    }

    /// Puts one back that asks for the features.
    private func putBack(_ machine: inout Machine, at instance: UInt8 = 5) throws {
        try claim(&machine, instance)
        #expect(machine.added(nil) == Output(timer: .start(Machine.calm)))
        #expect(machine.instance == instance)
    }

    @Test func `one that is removed is put back at once, and after that with pauses`() throws {
        var machine = try onAir()
        #expect(machine.removed(5) == Output(command: .readFeatures))
        #expect(machine.instance == nil)
        try putBack(&machine, at: 4)
        #expect(machine.removed(4) == Output(timer: .start(Machine.pause)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try putBack(&machine)
    }

    @Test func `one that is removed again and again is given up, with a word`() throws {
        var machine = try onAir()
        for _ in 0..<Machine.patience {
            if machine.removed(5).command == nil { #expect(machine.timerFired() == Output(command: .readFeatures)) }
            try putBack(&machine)
        }
        let failure = Machine.Failure.takenAway(times: Machine.patience)
        #expect(machine.removed(5) == Output(timer: .cancel, report: .failed(failure)))
        #expect(machine.cancel() == Output())
    }

    @Test func `losses of long ago don't count`() throws {
        var machine = try onAir()
        for _ in 0..<3 * Machine.patience {
            #expect(machine.removed(5) == Output(command: .readFeatures))
            try putBack(&machine)
            #expect(machine.timerFired() == Output())
        }
    }

    @Test func `losses don't add up where centrals come too often for a calm`() throws {
        var machine = try onAir()
        for _ in 0..<3 * Machine.patience {
            #expect(machine.removed(5) == Output(command: .readFeatures))
            try putBack(&machine)
            #expect(machine.centralCame(Self.central) == Output(command: .add(5, payload)))
            #expect(machine.added(nil) == Output())
            #expect(machine.linkEnded(Self.central) == Output())
        }
    }

    @Test func `visits that end before the controller has refused to advertise beside them don't add up`() throws {
        var machine = try onAir()
        for _ in 0..<3 * Machine.patience {
            #expect(machine.centralCame(Self.central) == Output(command: .add(5, payload)))
            #expect(machine.linkEnded(Self.central) == Output())
            #expect(machine.added(Self.refused) == Output(command: .readFeatures))
            try putBack(&machine)
        }
    }

    @Test func `another's removal is nothing to it`() throws {
        var machine = try onAir()
        #expect(machine.removed(1) == Output())
        #expect(machine.instance == 5)
    }

    @Test func `another's instance with its number means that its own was gone`() throws {
        var machine = try onAir()
        #expect(machine.appeared(1) == Output())
        #expect(machine.appeared(5) == Output(command: .readFeatures))
        try putBack(&machine, at: 4)
    }

    @Test func `when something was missed it is put up again, be it there or not`() throws {
        var machine = try onAir()
        #expect(machine.missedEvents() == Output(command: .add(5, payload)))
        // What is missed now may be a central that has ended it.
        #expect(machine.missedEvents() == Output())
        #expect(machine.added(nil) == Output(command: .add(5, payload)))
        #expect(machine.added(nil) == Output())
    }

    @Test func `where other programs have all numbers that is told`() throws {
        var machine = choosing()
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make(maximum: 2, inUse: [1])))
        let failure = Machine.Failure.noFreeInstance(of: 2)
        #expect(machine.claimed(nil) == Output(timer: .cancel, report: .failed(failure)))
    }

    @Test func `it is put up again for further centrals when one has connected`() throws {
        var machine = try onAir()
        #expect(machine.centralCame(Self.central) == Output(command: .add(5, payload)))
        #expect(machine.added(nil) == Output())
        #expect(machine.linkEnded(Self.central) == Output())
    }

    @Test func `where the controller can't do both it waits until the central has left`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        // The kernel removes what it can't change.
        #expect(machine.added(Self.refused) == Output(timer: .cancel))
        #expect(machine.instance == nil)
        #expect(machine.missedEvents(isLinked: true) == Output())
        #expect(machine.linkEnded(Self.central) == Output(command: .readFeatures))
        try claim(&machine)
        #expect(machine.added(nil) == Output())
    }

    @Test func `a link whose end was missed is not waited for`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        #expect(machine.added(Self.refused) == Output(timer: .cancel))
        #expect(machine.missedEvents(isLinked: false) == Output(command: .readFeatures))
        // Asked for once, however much is missed.
        #expect(machine.missedEvents(isLinked: false) == Output())
        try claim(&machine)
        #expect(machine.added(nil) == Output())
    }

    @Test func `a central that may have left unseen is no reason to wait for it`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        #expect(machine.added(nil) == Output())
        #expect(machine.missedEvents() == Output(command: .add(5, payload)))
        #expect(machine.added(Self.refused) == Output(command: .readFeatures))
        try putBack(&machine)
        // One that is still there, in whatever role, is waited for.
        #expect(machine.missedEvents(isLinked: true) == Output(command: .add(5, payload)))
        #expect(machine.added(Self.refused, isLinked: true) == Output(timer: .cancel))
    }

    @Test func `a central that has left before the refusal is not waited for`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        _ = machine.linkEnded(Self.central)
        #expect(machine.added(Self.refused) == Output(command: .readFeatures))
        try putBack(&machine)
    }

    @Test func `a central that has told its identity has left when that has`() throws {
        var machine = try onAir()
        let privateAddress = try #require(BluetoothAddress("66:55:44:33:22:11/random"))
        _ = machine.centralCame(privateAddress)
        #expect(machine.added(nil) == Output())
        #expect(machine.renamed(privateAddress, to: Self.central) == Output())
        #expect(machine.linkEnded(Self.central) == Output())
        #expect(machine.removed(5) == Output(command: .readFeatures))
        try claim(&machine)
        // There is no link that it would have to wait for.
        #expect(machine.added(Self.refused) == Output(timer: .start(Machine.pause)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try putBack(&machine)
    }

    @Test func `a link that the adapter makes as central is waited for like one to a central`() throws {
        var machine = try onAir()
        _ = machine.removed(5)
        try claim(&machine)
        #expect(machine.added(Self.refused, isLinked: true) == Output(timer: .cancel))
        #expect(machine.instance == nil)
        #expect(machine.linkEnded(Self.central) == Output(command: .readFeatures))
        try putBack(&machine)
    }

    @Test func `a rejection right behind the end of a link passes, and one that lasts is told`() throws {
        let rejected = ManagementFailure.status(.rejected, .addExtendedAdvertisingParameters)
        var machine = try onAir()
        #expect(machine.removed(5) == Output(command: .readFeatures))
        try claim(&machine)
        #expect(machine.added(rejected) == Output(timer: .start(Machine.pause)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try putBack(&machine)
        #expect(machine.timerFired() == Output())
        #expect(machine.removed(5) == Output(command: .readFeatures))
        for _ in 0..<Machine.patience {
            try claim(&machine)
            #expect(machine.added(rejected) == Output(timer: .start(Machine.pause)))
            #expect(machine.timerFired() == Output(command: .readFeatures))
        }
        try claim(&machine)
        #expect(machine.added(rejected) == Output(timer: .cancel, report: .failed(.management(rejected))))
    }

    @Test(arguments: [ManagementOpcode.addAdvertising, .addExtendedAdvertisingParameters])
    func `a controller that has not answered is asked again, however long a link lasts`(
        _ opcode: ManagementOpcode
    ) throws {
        var machine = try onAir()
        #expect(machine.removed(5) == Output(command: .readFeatures))
        try claim(&machine)
        // What the kernel makes of a controller's silence.
        let silence = ManagementFailure.status(.authenticationFailed, opcode)
        #expect(machine.added(silence, isLinked: true) == Output(timer: .start(Machine.calm)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try putBack(&machine)
    }

    @Test(arguments: [ManagementStatus.busy, .failed, .noResources, .timeout])
    func `a failure that may pass is not waited out for as long as a link lasts`(_ status: ManagementStatus) throws {
        var machine = try onAir()
        #expect(machine.removed(5) == Output(command: .readFeatures))
        try claim(&machine)
        let busy = ManagementFailure.status(status, .addAdvertising)
        #expect(machine.added(busy, isLinked: true) == Output(timer: .start(Machine.calm)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try claim(&machine)
        // However long it goes on: it isn't counted.
        for _ in 0..<20 {
            #expect(machine.added(busy, isLinked: true) == Output(timer: .start(Machine.calm)))
            #expect(machine.linkEnded(Self.central) == Output(command: .readFeatures))
            try claim(&machine)
        }
    }

    @Test func `what was accepted before is not refused for good when that link has just ended`() throws {
        var machine = try onAir()
        _ = machine.removed(5)
        try claim(&machine)
        #expect(machine.added(Self.refused) == Output(timer: .start(Machine.pause)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try claim(&machine)
        #expect(machine.added(nil).report == nil)
    }

    @Test func `before it was ever on air, a link as central is told`() throws {
        var machine = choosing()
        try claim(&machine)
        let failure = Output.Report.failed(.management(Self.refused))
        #expect(machine.added(Self.refused, isLinked: true) == Output(timer: .cancel, report: failure))
    }

    @Test func `another program's command is waited for`() throws {
        var machine = choosing()
        try claim(&machine)
        #expect(machine.added(Self.busy) == Output(timer: .start(Machine.pause)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
        try claim(&machine)
        #expect(machine.added(nil).report == .started)
        // So is one that is under way when a central has come.
        _ = machine.centralCame(Self.central)
        #expect(machine.added(Self.busy) == Output(timer: .start(Machine.pause)))
        #expect(machine.instance == 5)
        #expect(machine.timerFired() == Output(command: .add(5, payload)))
    }

    /// As long as Linux 6.12 tries to connect to a peer, behind which another program's command waits.
    @Test func `where the kernel is busy for as long as it may be, it is put up after that`() throws {
        var machine = choosing()
        for _ in 1...20 {
            try claim(&machine)
            #expect(machine.added(Self.busy) == Output(timer: .start(Machine.pause)))
            #expect(machine.timerFired() == Output(command: .readFeatures))
        }
        try claim(&machine)
        #expect(machine.added(nil) == Output(timer: .start(Machine.calm), report: .started))
    }

    @Test func `what doesn't pass is told`() throws {
        for count in [1, Machine.busyPatience + 1] {
            var machine = choosing()
            let failure = count == 1 ? Self.refused : Self.busy
            for number in 1...count {
                try claim(&machine)
                let output = machine.added(failure)
                guard number == count else {
                    _ = machine.timerFired()
                    continue
                }
                #expect(output == Output(timer: .cancel, report: .failed(.management(failure))))
            }
        }
    }

    @Test func `cancelled while it is put up, it is taken down when the answer comes`() throws {
        var machine = choosing()
        try claim(&machine)
        #expect(machine.cancel() == Output(timer: .cancel))
        #expect(machine.instance == 5)
        #expect(machine.added(nil) == Output(command: .remove(5)))
        #expect(machine.instance == nil)
    }

    @Test func `cancelled while it is renewed, it is taken down at once and after the answer`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        #expect(machine.cancel() == Output(command: .remove(5), timer: .cancel))
        #expect(machine.added(nil) == Output(command: .remove(5)))
        #expect(machine.cancel() == Output())
    }

    @Test func `cancelled on air it is taken down`() throws {
        var machine = try onAir()
        #expect(machine.cancel() == Output(command: .remove(5), timer: .cancel))
        #expect(machine.removed(5) == Output())
        #expect(machine.missedEvents() == Output())
    }

    @Test(arguments: [ManagementFailure.timedOut(.addAdvertising), .broken(.addAdvertising, "closed")])
    func `what the kernel has not answered it may have added, so it is removed`(_ failure: ManagementFailure) throws {
        var machine = choosing()
        try claim(&machine)
        let output = machine.added(failure)
        #expect(output.command == .remove(5) && machine.instance == nil)
        #expect((output.report == nil) == (output.timer == .start(Machine.pause)))

        var renewed = try onAir()
        _ = renewed.missedEvents()
        #expect(renewed.added(failure) == output && renewed.instance == nil)
    }
}
