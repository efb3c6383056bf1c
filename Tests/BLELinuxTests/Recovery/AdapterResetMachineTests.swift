import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct AdapterResetMachineTests {
    private typealias Output = AdapterResetMachine.Output
    private typealias Timer = AdapterResetMachine.Timer

    private static let awaits = Output(timers: [.start(.absence, .seconds(20))])
    private static func over(_ end: AdapterResetMachine.End) -> Output {
        Output(timers: [.cancel(.absence), .cancel(.pause)], end: end)
    }

    /// One that has been ordered to be reset, and is away.
    private func away(wasOn: Bool = true) -> AdapterResetMachine {
        var machine = AdapterResetMachine(adapter: wasOn ? .poweredOn : .poweredOff)
        #expect(machine.adapterIs(.absent) == Output())
        #expect(machine.ordered(nil) == Self.awaits)
        return machine
    }

    @Test func `one that was on goes away, starts, and is switched on again`() {
        var machine = away()
        #expect(machine.adapterIs(.unknown) == Output())
        #expect(machine.adapterIs(.poweredOff) == Output(switchesOn: true))
        // Its own doing, told before the answer.
        #expect(machine.adapterIs(.poweredOn) == Output())
        #expect(machine.switched(on: true, isPassing: false) == Self.over(.back))
        #expect(machine.adapterIs(.absent) == Output())
        #expect(machine.timerFired(.absence) == Output())
    }

    @Test func `one that somebody else switches on, or that was off, is left as it is`() {
        var machine = away()
        #expect(machine.adapterIs(.poweredOn) == Self.over(.back))
        machine = away(wasOn: false)
        #expect(machine.adapterIs(.poweredOff) == Self.over(.back))
    }

    @Test func `one that is off because it could not be switched on again is switched on`() {
        var machine = AdapterResetMachine(adapter: .poweredOff, isLeftOff: true)
        #expect(machine.mustBeOn)
        _ = machine.adapterIs(.absent)
        #expect(machine.ordered(nil) == Self.awaits)
        #expect(machine.adapterIs(.poweredOff) == Output(switchesOn: true))
        #expect(machine.switched(on: true, isPassing: false) == Self.over(.back))
    }

    @Test func `one that takes no commands yet is switched on a moment later`() {
        var machine = away()
        #expect(machine.adapterIs(.poweredOff).switchesOn)
        #expect(machine.switched(on: false, isPassing: true) == Output(timers: [.start(.pause, .milliseconds(500))]))
        #expect(machine.timerFired(.pause) == Output(switchesOn: true))
        #expect(machine.switched(on: false, isPassing: false) == Self.over(.unusable))
    }

    @Test func `one that never comes back is given up`() {
        var machine = away()
        #expect(machine.timerFired(.absence) == Self.over(.gone(.seconds(20))))
        machine = away()
        _ = machine.adapterIs(.unknown)
        #expect(machine.timerFired(.absence) == Self.over(.unusable))
    }

    @Test func `one that comes back blocked can't be used`() {
        var machine = away()
        #expect(machine.adapterIs(.blocked) == Self.over(.unusable))
    }

    @Test func `an order that is refused changes nothing`() {
        var machine = AdapterResetMachine(adapter: .poweredOn)
        #expect(machine.ordered(.accessDenied) == Self.over(.refused(.accessDenied)))
        #expect(machine.ordered(nil) == Output())
    }

    @Test func `an order that the system never carries out is given up`() {
        var machine = AdapterResetMachine(adapter: .poweredOn)
        #expect(machine.orderIsOverdue() == Self.over(.stuck(.seconds(60))))
        #expect(machine.ordered(nil) == Output())
        machine = away()
        #expect(machine.orderIsOverdue() == Output())
    }

    @Test func `a device that comes out of it as another one goes away first`() {
        var machine = AdapterResetMachine(adapter: .poweredOn)
        #expect(machine.ordered(.noDevice) == Self.awaits)
        // The old one, still.
        #expect(machine.adapterIs(.poweredOn) == Output())
        #expect(machine.adapterIs(.absent) == Output())
        #expect(machine.adapterIs(.poweredOn) == Self.over(.back))
    }
}
