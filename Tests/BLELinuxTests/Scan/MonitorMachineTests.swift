import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct MonitorMachineTests {
    private typealias Output = MonitorMachine.Output

    private static func features(
        supported: UInt8 = 0,
        inUse: [UInt8] = []
    ) throws -> ManagementReadMonitorFeatures.Response {
        let head: [UInt8] = [supported, 0, 0, 0, 0, 0, 0, 0, 32, 0, 16, UInt8(inUse.count), 0]
        let octets = head + inUse.flatMap { [$0, 0] }
        var reader = ManagementReader(octets[...], subject: .answer(.readMonitorFeatures))
        return try .init(decoding: &reader)
    }

    private func present(_ handle: UInt16 = 1) throws -> MonitorMachine {
        var machine = MonitorMachine()
        #expect(machine.want() == Output(command: .readFeatures))
        let expected = Output(command: .add(expecting: 1))
        #expect(machine.featuresRead(.success(try Self.features())) == expected)
        #expect(machine.added(.success(handle)) == Output(report: .present))
        return machine
    }

    @Test func `the handle that the kernel is going to give is known before it has the monitor`() throws {
        var machine = MonitorMachine()
        _ = machine.want()
        let features = try Self.features(inUse: [1, 2, 4])
        #expect(machine.featuresRead(.success(features)) == Output(command: .add(expecting: 3)))
        #expect(machine.handle == 3)
    }

    @Test func `where the kernel has as many as it takes none is added`() throws {
        var machine = MonitorMachine()
        _ = machine.want()
        let failure = ManagementFailure.status(.noResources, .addPatternsMonitor)
        let unavailable = Output(timer: .cancel, report: .unavailable(failure))
        #expect(machine.featuresRead(.success(try Self.features(inUse: Array(1...32)))) == unavailable)
        #expect(machine.handle == nil)
    }

    @Test(arguments: [1, 0] as [UInt16])
    func `one that is taken away is added again at once, and after that with pauses`(_ told: UInt16) throws {
        var machine = try present()
        #expect(machine.removed(told) == Output(command: .readFeatures))
        #expect(machine.handle == nil)
        _ = machine.featuresRead(.success(try Self.features()))
        #expect(machine.added(.success(1)) == Output(timer: .start(MonitorMachine.calm), report: .present))
        #expect(machine.removed(told) == Output(timer: .start(MonitorMachine.pause)))
        #expect(machine.timerFired() == Output(command: .readFeatures))
    }

    @Test func `one that is taken away again and again is given up`() throws {
        var machine = try present()
        for _ in 0..<MonitorMachine.patience {
            if machine.removed(1).command == nil { #expect(machine.timerFired() == Output(command: .readFeatures)) }
            _ = machine.featuresRead(.success(try Self.features()))
            _ = machine.added(.success(1))
        }
        #expect(machine.removed(1) == Output(timer: .cancel, report: .unavailable(nil)))
        #expect(machine.want() == Output())
    }

    @Test func `one that is wanted just behind the end of its scan is not added`() throws {
        var (fresh, machine) = (MonitorMachine(), try present(3))
        #expect(fresh.end() == Output())
        #expect(fresh.want() == Output())
        #expect(machine.end() == Output(command: .remove(3), timer: .cancel))
        #expect(machine.want() == Output())
        #expect(machine.handle == nil)
    }

    @Test func `losses of long ago don't count`() throws {
        var machine = try present()
        for _ in 0..<3 * MonitorMachine.patience {
            #expect(machine.removed(1) == Output(command: .readFeatures))
            _ = machine.featuresRead(.success(try Self.features()))
            #expect(machine.added(.success(1)).timer == .start(MonitorMachine.calm))
            #expect(machine.timerFired() == Output())
        }
    }

    @Test func `others' monitors are theirs`() throws {
        var machine = try present(2)
        #expect(machine.removed(1) == Output())
        #expect(machine.handle == 2)
    }

    @Test func `one that nobody wants any more is removed, and not added again`() throws {
        var machine = try present(3)
        #expect(machine.unwant() == Output(command: .remove(3), timer: .cancel))
        #expect(machine.removed(3) == Output())
        machine = try present()
        _ = machine.removed(1)
        _ = machine.featuresRead(.success(try Self.features()))
        _ = machine.added(.success(1))
        #expect(machine.removed(1) == Output(timer: .start(MonitorMachine.pause)))
        #expect(machine.unwant() == Output(timer: .cancel), "it is gone, and only the pause is to end")
        #expect(machine.timerFired() == Output())
    }

    @Test func `one that comes after it was wanted is removed`() throws {
        var machine = MonitorMachine()
        _ = machine.want()
        _ = machine.featuresRead(.success(try Self.features()))
        #expect(machine.unwant() == Output())
        #expect(machine.added(.success(1)) == Output(command: .remove(1)))
        #expect(machine.want() == Output(command: .readFeatures))
    }

    private static let busy = ManagementFailure.status(.busy, .addPatternsMonitor)
    private static let later = Output(timer: .start(MonitorMachine.pause))

    @Test func `where the kernel is busy with another program's, it is added a moment later`() throws {
        var machine = MonitorMachine()
        _ = machine.want()
        for _ in 0..<MonitorMachine.busyPatience {
            _ = machine.featuresRead(.success(try Self.features()))
            #expect(machine.added(.failure(Self.busy)) == Self.later)
            #expect(machine.handle == nil)
            #expect(machine.timerFired() == Output(command: .readFeatures))
        }
        var patient = machine
        _ = patient.featuresRead(.success(try Self.features()))
        #expect(patient.added(.success(1)) == Output(report: .present))
        #expect(patient.removed(1) == Output(command: .readFeatures))
        _ = patient.featuresRead(.success(try Self.features()))
        #expect(patient.added(.failure(Self.busy)) == Self.later)
        // Not for ever.
        _ = machine.featuresRead(.success(try Self.features()))
        let unavailable = Output(timer: .cancel, report: .unavailable(Self.busy))
        #expect(machine.added(.failure(Self.busy)) == unavailable)
    }

    @Test func `one that nobody wants any more is not waited for, and can be wanted again`() throws {
        var machine = MonitorMachine()
        _ = machine.want()
        _ = machine.featuresRead(.success(try Self.features()))
        _ = machine.unwant()
        #expect(machine.added(.failure(Self.busy)) == Output())
        #expect(machine.want() == Output(command: .readFeatures))
        _ = machine.featuresRead(.success(try Self.features()))
        #expect(machine.added(.failure(Self.busy)) == Self.later)
        #expect(machine.unwant() == Output(timer: .cancel))
        #expect(machine.timerFired() == Output())
    }

    // MARK: What was missed

    private static let check = Output(timer: .start(MonitorMachine.calm))

    @Test func `one whose removal may have been missed is looked for after a while, and added again`() throws {
        var machine = try present(2)
        for _ in 0..<2 {
            #expect(machine.missedEvents() == Self.check)
            // However much is lost, the time stays.
            #expect(machine.missedEvents() == Output())
            #expect(machine.timerFired() == Output(command: .readFeatures))
            #expect(machine.handle == 2)
            #expect(machine.featuresRead(.success(try Self.features(inUse: [1, 2]))) == Output())
            #expect(machine.handle == 2)
        }
        #expect(machine.missedEvents() == Self.check)
        #expect(machine.timerFired() == Output(command: .readFeatures))
        #expect(machine.featuresRead(.success(try Self.features(inUse: [1]))) == Output(command: .readFeatures))
        #expect(machine.handle == nil)
        let next = Output(command: .add(expecting: 2))
        #expect(machine.featuresRead(.success(try Self.features(inUse: [1]))) == next)
        #expect(machine.added(.success(2)) == Output(timer: .start(MonitorMachine.calm), report: .present))
        // That timer runs already.
        #expect(machine.missedEvents() == Output())
        #expect(machine.timerFired() == Output(command: .readFeatures))
    }

    @Test func `a removal that is told ends the doubt about it`() throws {
        var machine = try present()
        #expect(machine.missedEvents() == Self.check)
        #expect(machine.removed(1) == Output(command: .readFeatures, timer: .cancel))
        machine = try present()
        _ = machine.missedEvents()
        #expect(machine.timerFired() == Output(command: .readFeatures))
        #expect(machine.removed(2) == Output())
        #expect(machine.removed(1) == Output(command: .readFeatures))
        // The first answer will do, and there is a second one.
        let features = try Self.features()
        #expect(machine.featuresRead(.success(features)) == Output(command: .add(expecting: 1)))
        #expect(machine.featuresRead(.success(features)) == Output())
        #expect(machine.added(.success(1)).report == .present)
    }

    @Test func `one that nobody wants any more is removed, whether or not it was missed`() throws {
        var machine = try present()
        _ = machine.missedEvents()
        _ = machine.timerFired()
        #expect(machine.unwant() == Output(command: .remove(1), timer: .cancel))
        #expect(machine.featuresRead(.success(try Self.features())) == Output())
        machine = try present()
        _ = machine.missedEvents()
        #expect(machine.unwant() == Output(command: .remove(1), timer: .cancel))
        #expect(machine.missedEvents() == Output())
        #expect(machine.timerFired() == Output())
    }

    @Test func `where the kernel doesn't say what it has, it is asked again, unless the adapter is gone`() throws {
        var machine = try present()
        _ = machine.missedEvents()
        _ = machine.timerFired()
        #expect(machine.featuresRead(.failure(.timedOut(.readMonitorFeatures))) == Self.check)
        #expect(machine.timerFired() == Output(command: .readFeatures))
        let failure = ManagementFailure.status(.invalidIndex, .readMonitorFeatures)
        #expect(
            machine.featuresRead(.failure(failure)) == Output(timer: .cancel, report: .unavailable(failure))
        )
    }

    @Test func `a controller that looks at patterns itself, and a kernel that refuses, are told`() throws {
        var machine = MonitorMachine()
        _ = machine.want()
        let offloading = try Self.features(supported: 1)
        #expect(machine.featuresRead(.success(offloading)) == Output(timer: .cancel, report: .unavailable(nil)))
        var other = MonitorMachine()
        _ = other.want()
        _ = other.featuresRead(.success(try Self.features()))
        let failure = ManagementFailure.status(.noResources, .addPatternsMonitor)
        #expect(other.added(.failure(failure)) == Output(timer: .cancel, report: .unavailable(failure)))
    }
}
