import BLEProtocol
import Testing

@testable import BLEStreams

@Suite struct LimitMachineTests {
    private static func conditions(_ milliseconds: Int, latency: Int = 0, timeout: Duration = .seconds(5))
        -> LinkConditions
    {
        var conditions = LinkConditions()
        conditions.interval = .milliseconds(milliseconds)
        conditions.latency = latency
        conditions.supervisionTimeout = timeout
        return conditions
    }

    private static func machine(corrections: Int = 2) throws -> LimitMachine {
        let limits = try ConnectionParameters.Limits(
            interval: .milliseconds(20) ... .milliseconds(100),
            corrections: corrections
        )
        return try #require(LimitMachine(ConnectionParameters.balanced.limited(to: limits)))
    }

    private static func asks(_ machine: LimitMachine) -> LimitMachine.Output {
        LimitMachine.Output(request: machine.parameters, timer: .start(LimitMachine.patience))
    }

    @Test func `parameters without limits are not watched`() {
        #expect(LimitMachine(nil) == nil)
        #expect(LimitMachine(.fast) == nil)
    }

    @Test func `a peripheral that takes the link beyond the limits is corrected, as often as the limits say`() throws {
        var machine = try Self.machine()
        #expect(machine.saw(Self.conditions(50)) == LimitMachine.Output())
        #expect(machine.breach == nil)
        #expect(machine.saw(Self.conditions(1000)) == Self.asks(machine))
        #expect(machine.breach == ConnectionParameters.LimitBreach(corrections: 1, isFinal: false))
        #expect(machine.saw(Self.conditions(50)) == LimitMachine.Output(timer: .start(LimitMachine.settled)))
        #expect(machine.breach == nil)
        #expect(machine.saw(Self.conditions(7)) == Self.asks(machine))
        #expect(machine.saw(Self.conditions(50)).timer == .start(LimitMachine.settled))
        #expect(machine.saw(Self.conditions(1000)) == LimitMachine.Output(timer: .cancel))
        #expect(machine.breach == ConnectionParameters.LimitBreach(corrections: 2, isFinal: true))
        // Nothing more is done, whatever it asks for.
        #expect(machine.saw(Self.conditions(2000)) == LimitMachine.Output())
    }

    @Test func `a minute within the limits counts anew`() throws {
        var machine = try Self.machine(corrections: 1)
        #expect(machine.saw(Self.conditions(1000)).request != nil)
        _ = machine.saw(Self.conditions(50))
        #expect(machine.timerFired() == LimitMachine.Output())
        #expect(machine.saw(Self.conditions(1000)).request != nil)
    }

    @Test func `a peripheral that comes back by itself is forgiven`() throws {
        var machine = try Self.machine(corrections: 0)
        #expect(machine.saw(Self.conditions(1000)).request == nil)
        #expect(machine.breach?.isFinal == true)
        #expect(machine.saw(Self.conditions(50)).timer == .start(LimitMachine.settled))
        #expect(machine.breach == nil)
    }

    @Test func `what else changes of the link is no insisting`() throws {
        var machine = try Self.machine()
        _ = machine.saw(Self.conditions(1000))
        var other = Self.conditions(1000)
        other.sendingPHY = .le2M
        #expect(machine.saw(other) == LimitMachine.Output())
        #expect(machine.breach?.corrections == 1)
    }

    @Test func `a correction that comes to nothing is asked for again, and then no more`() throws {
        var machine = try Self.machine()
        _ = machine.saw(Self.conditions(1000))
        #expect(machine.timerFired() == Self.asks(machine))
        #expect(machine.timerFired() == LimitMachine.Output(timer: .cancel))
        #expect(machine.breach == ConnectionParameters.LimitBreach(corrections: 2, isFinal: true))
        #expect(machine.timerFired() == LimitMachine.Output())
    }

    @Test func `a radio that can't ask is not asked again`() throws {
        var machine = try Self.machine()
        _ = machine.saw(Self.conditions(1000))
        #expect(machine.refused(BLEError(.notSupported, operation: "x", cause: "y")).timer == .cancel)
        #expect(machine.breach?.isFinal == true)
        #expect(machine.breach?.error?.code == .notSupported)
        #expect(machine.saw(Self.conditions(2000)) == LimitMachine.Output())
    }

    @Test func `a link that is on its way to its parameters is given time`() throws {
        var machine = try Self.machine()
        #expect(machine.asked(Self.conditions(1000)) == LimitMachine.Output(timer: .start(LimitMachine.patience)))
        #expect(machine.breach == ConnectionParameters.LimitBreach(corrections: 0, isFinal: false))
        #expect(machine.saw(Self.conditions(1000)) == LimitMachine.Output())
        #expect(machine.saw(Self.conditions(50)).request == nil)
        #expect(machine.breach == nil)
    }

    @Test func `latency and supervision timeout have limits too`() throws {
        let limits = try ConnectionParameters.Limits(latency: 4, supervisionTimeout: .seconds(2) ... .seconds(6))
        var machine = try #require(LimitMachine(ConnectionParameters.balanced.limited(to: limits)))
        #expect(machine.saw(Self.conditions(50, latency: 4, timeout: .seconds(6))).request == nil)
        #expect(machine.saw(Self.conditions(50, latency: 5)).request != nil)
        #expect(machine.saw(Self.conditions(50)).request == nil)
        #expect(machine.saw(Self.conditions(50, timeout: .seconds(1))).request != nil)
    }

    @Test func `what isn't known is not beyond any limit`() throws {
        var machine = try Self.machine()
        #expect(machine.saw(LinkConditions()) == LimitMachine.Output())
        #expect(machine.breach == nil)
    }
}
