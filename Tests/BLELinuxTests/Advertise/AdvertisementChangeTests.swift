import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An advertisement that is changed while it is on air, or on its way there.
@Suite struct AdvertisementChangeTests {
    private typealias Machine = AdvertisementMachine
    private typealias Output = AdvertisementMachine.Output

    private static let first = AdvertiseRequest([.txPower(1)])
    private static let second = AdvertiseRequest([.txPower(2)], interval: .milliseconds(100) ... .milliseconds(200))
    private static let long = AdvertiseRequest([.localName(String(repeating: "n", count: 40))])
    private static let beacon = AdvertiseRequest([.txPower(3)], isConnectable: false)
    private static let central = BluetoothAddress.example
    private static let refused = ManagementFailure.status(.invalidParameters, .addAdvertising)
    private static let busy = ManagementFailure.status(.busy, .addAdvertising)

    private func payload(_ request: AdvertiseRequest) throws -> AdvertisingPayload {
        try AdvertisingPayload(request, for: try AdvertisingFeatures.make())
    }

    private func adding() throws -> Machine {
        var machine = Machine(Self.first)
        _ = machine.begin()
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.first))))
        return machine
    }

    private func onAir() throws -> Machine {
        var machine = try adding()
        #expect(machine.added(nil) == Output(report: .started))
        return machine
    }

    @Test func `on air the same instance says it`() throws {
        var machine = try onAir()
        #expect(try machine.change(to: Self.second) == Output(command: .add(5, try payload(Self.second))))
        #expect(try payload(Self.second).interval == 160...320)
        #expect(machine.added(nil) == Output(change: .made))
        #expect(machine.instance == 5)
        // It stays when a central has come.
        #expect(machine.centralCame(Self.central) == Output(command: .add(5, try payload(Self.second))))
        #expect(machine.added(nil) == Output())
    }

    @Test func `while an answer is awaited it is put up behind it`() throws {
        var machine = try adding()
        #expect(try machine.change(to: Self.second) == Output())
        #expect(machine.added(nil) == Output(command: .add(5, try payload(Self.second)), report: .started))
        #expect(machine.added(nil) == Output(change: .made))
    }

    /// The kernel tells of a central at once, and of a command's success when the command's thread has its turn.
    @Test func `a central that comes before the kernel answers may have ended it, so it is put up once more`() throws {
        var machine = try adding()
        let (first, second) = (try payload(Self.first), try payload(Self.second))
        #expect(machine.centralCame(Self.central) == Output())
        #expect(machine.added(nil) == Output(command: .add(5, first), report: .started))
        // So may the next one, which that has let in.
        let next = BluetoothAddress(rawValue: 0xC400_0000_0001, kind: .random)
        #expect(machine.centralCame(next) == Output())
        #expect(machine.added(nil) == Output(command: .add(5, first)))
        #expect(machine.added(nil) == Output())
        // A change is made all the same.
        #expect(try machine.change(to: Self.second) == Output(command: .add(5, second)))
        #expect(machine.centralCame(next) == Output())
        #expect(machine.added(nil) == Output(command: .add(5, second), change: .made))
        #expect(machine.added(nil) == Output())
    }

    @Test func `one of the other form takes the place of the former one, as often as the kernel is busy`() throws {
        let features = try AdvertisingFeatures.make(isExtended: true)
        let long = try AdvertisingPayload(Self.long, for: features)
        let short = try AdvertisingPayload(Self.first, for: features)
        #expect(long.isExtended && !short.isExtended)
        var machine = Machine(Self.long)
        _ = machine.begin()
        _ = machine.featuresRead(.success(features))
        #expect(machine.claimed(5) == Output(command: .add(5, long)))
        #expect(machine.added(nil) == Output(report: .started))
        #expect(try machine.change(to: Self.first) == Output(command: .replace(5, short)))
        #expect(machine.added(Self.busy) == Output(timer: .start(Machine.pause)))
        #expect(machine.timerFired() == Output(command: .replace(5, short)))
        #expect(machine.added(nil) == Output(change: .made))
        #expect(machine.centralCame(Self.central) == Output(command: .add(5, short)))
        #expect(machine.added(nil) == Output())
        #expect(try machine.change(to: Self.long) == Output(command: .replace(5, long)))
    }

    @Test func `what has no room changes nothing`() throws {
        var machine = try onAir()
        #expect(throws: AdvertisingFault.self) { try machine.change(to: Self.long) }
        #expect(machine.missedEvents() == Output(command: .add(5, try payload(Self.first))))
    }

    @Test func `what the kernel refuses is told, and the former is put back`() throws {
        var machine = try onAir()
        _ = try machine.change(to: Self.second)
        #expect(machine.added(Self.refused) == Output(command: .readFeatures, change: .refused(Self.refused)))
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(4) == Output(command: .add(4, try payload(Self.first))))
    }

    @Test func `beside a link that is in the way it waits for the end of the link`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        #expect(try machine.change(to: Self.second) == Output())
        #expect(machine.added(Self.refused) == Output(timer: .cancel, change: .made))
        #expect(machine.linkEnded(Self.central) == Output(command: .readFeatures))
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.second))))
    }

    /// Beside a link, a controller may refuse what accepts further links, and nothing else.
    @Test func `what accepts no connection doesn't wait for the end of a link`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        #expect(machine.added(Self.refused) == Output(timer: .cancel))
        #expect(try machine.change(to: Self.second) == Output(change: .made))
        #expect(try machine.change(to: Self.beacon) == Output(command: .readFeatures, timer: .cancel))
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.beacon))))
        #expect(machine.added(nil) == Output(change: .made))
        // It outlasts the link.
        #expect(machine.linkEnded(Self.central) == Output())
        #expect(machine.instance == 5)
        #expect(try machine.change(to: Self.first) == Output(command: .add(5, try payload(Self.first))))
        #expect(machine.added(nil) == Output(change: .made))
    }

    @Test func `nor does it where the kernel has yet to refuse what accepts connections`() throws {
        for isLinked in [false, true] {
            var machine = try onAir()
            _ = machine.centralCame(Self.central)
            // A program that changes it when a central has come.
            #expect(try machine.change(to: Self.beacon) == Output())
            let output = machine.added(Self.refused, isLinked: isLinked)
            #expect(output == Output(command: .readFeatures, timer: .cancel))
            _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
            #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.beacon))))
            // It waits only where it is refused itself.
            guard isLinked else {
                #expect(machine.added(nil) == Output(change: .made))
                continue
            }
            #expect(machine.added(Self.refused, isLinked: true) == Output(timer: .cancel, change: .made))
            #expect(machine.linkEnded(Self.central) == Output(command: .readFeatures))
        }
    }

    @Test func `what accepts no connection waits like the rest where the controller refuses that, too`() throws {
        var machine = try onAir()
        _ = machine.centralCame(Self.central)
        _ = machine.added(Self.refused)
        _ = try machine.change(to: Self.beacon)
        // Whoever changes it once more is told of that one, and the one before is out of date.
        #expect(try machine.change(to: Self.first) == Output(change: .made))
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.first))))
        #expect(machine.added(Self.refused) == Output(timer: .cancel))
        #expect(try machine.change(to: Self.beacon) == Output(command: .readFeatures, timer: .cancel))
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.beacon))))
        #expect(machine.added(Self.refused, isLinked: true) == Output(timer: .cancel, change: .made))
        #expect(machine.linkEnded(Self.central) == Output(command: .readFeatures))
    }

    @Test func `before the kernel has said what it can do, it is taken as it is`() throws {
        var machine = Machine(Self.long)
        _ = machine.begin()
        #expect(try machine.change(to: Self.second) == Output(change: .made))
        _ = machine.featuresRead(.success(try AdvertisingFeatures.make()))
        #expect(machine.claimed(5) == Output(command: .add(5, try payload(Self.second))))
    }
}
