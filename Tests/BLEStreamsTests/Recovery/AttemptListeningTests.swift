import BLEProtocol
import Testing

@testable import BLEStreams

@Suite struct AttemptListeningTests {
    private typealias Output = AttemptListening.Output

    private static let sensor = BluetoothAddress(rawValue: 0xC0_0000_0000_01, kind: .random)
    private static let other = BluetoothAddress(rawValue: 0xC0_0000_0000_02, kind: .random)
    private static let counts = Output(timer: .start(.seconds(60)))

    private func machine() -> AttemptListening { AttemptListening(patience: .seconds(60)) }

    /// One that listens, since an attempt has waited in vain.
    private func listening() -> AttemptListening {
        var machine = machine()
        #expect(machine.began(Self.sensor) == Self.counts)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.isListening)
        machine.scanStarted()
        return machine
    }

    @Test func `an attempt that waits in vain is listened beside, until somebody is heard`() {
        var machine = listening()
        #expect(machine.heard([Self.other]) == Output(timer: .start(.seconds(60)), listens: false))
        machine.scanStopped()
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.ended(Self.sensor, isLinked: true) == Output(listens: false))
        #expect(machine.timerFired() == Output())
    }

    @Test func `an attempt that succeeds in time costs nothing`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        #expect(machine.ended(Self.sensor, isLinked: true) == Output(timer: .cancel))
        #expect(machine.timerFired() == Output())
        #expect(machine.began(Self.sensor) == Self.counts)
    }

    @Test func `short attempts one after the other wait in vain too`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        #expect(machine.ended(Self.sensor, isLinked: false) == Output())
        #expect(machine.timerFired() == Output())
        #expect(machine.began(Self.sensor) == Output(listens: true))
        #expect(machine.ended(Self.sensor, isLinked: false) == Output(listens: false))
        #expect(machine.began(Self.sensor) == Output(listens: true))
    }

    @Test func `nothing is added to a scan that somebody else makes`() {
        var machine = machine()
        machine.scanStarted()
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Self.counts)
        machine.scanStopped()
        #expect(machine.timerFired() == Output(listens: true))
    }

    @Test func `whoever was heard meanwhile puts it off, and links of others do`() {
        var machine = machine()
        _ = machine.began(Self.sensor)
        #expect(machine.heard([Self.other]) == Output())
        #expect(machine.timerFired() == Self.counts)
        _ = machine.began(Self.other)
        #expect(machine.ended(Self.other, isLinked: true) == Output())
        #expect(machine.timerFired() == Self.counts)
        #expect(machine.timerFired() == Output(listens: true))
    }

    @Test func `one silent peer is no deaf adapter`() {
        var machine = machine()
        _ = machine.heard([Self.sensor])
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(!machine.missesOthers)
        _ = machine.heard([Self.other])
        #expect(!machine.missesOthers)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.missesOthers)
        // Who is connected to as well is no other.
        _ = machine.began(Self.other)
        #expect(!machine.missesOthers)
    }

    @Test func `a peer that is linked is not missed, unless it was received beside its link`() {
        var machine = machine()
        _ = machine.heard([Self.other])
        _ = machine.began(Self.other)
        #expect(machine.ended(Self.other, isLinked: true) == Output(timer: .cancel))
        _ = machine.began(Self.sensor)
        #expect(machine.timerFired() == Output(listens: true))
        #expect(!machine.missesOthers)
        _ = machine.heard([Self.other])
        #expect(machine.timerFired() == Output(listens: true))
        #expect(machine.missesOthers)
    }

    @Test func `where it is of no use it is quiet, until the adapter is on again or somebody is heard`() {
        var machine = listening()
        #expect(machine.giveUp() == Output(listens: false))
        #expect(machine.timerFired() == Output())
        #expect(machine.ended(Self.sensor, isLinked: false) == Output())
        #expect(machine.began(Self.sensor) == Output())
        #expect(machine.adapterReturned() == Self.counts)
        _ = machine.giveUp()
        #expect(machine.heard([Self.other]) == Self.counts)
    }
}
