import BLEProtocol
import Testing

@testable import BLEStreams

/// Those who wait for a link while the adapter can't be used.
@Suite struct AwayAdapterTests {
    private static let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    private static func waiter(
        _ id: Int,
        at time: Duration,
        _ patience: ConnectMachine.Patience
    ) -> ConnectMachine.Waiter {
        let timeout = Duration.seconds(30)
        return ConnectMachine.Waiter(id: id, timeout: timeout, deadline: time + timeout, patience: patience)
    }

    /// A machine whose one waiter has just been told by the radio that the adapter is off.
    private static func waitingMachine(_ patience: ConnectMachine.Patience) -> ConnectMachine {
        var machine = ConnectMachine([address])
        var output = ConnectMachine.Output()
        machine.join(waiter(1, at: .zero, patience), &output)
        machine.isDown(machine.number, &output)
        machine.recalled(machine.number, identities: [:], isBonded: false, hasLink: false, &output)
        machine.granted(machine.number, &output)
        let off = BLEError(.adapterPoweredOff, operation: "connect", cause: "it is off")
        let failure = ConnectMachine.Failure(
            pace: ConnectPace.Failure(off, wasHeard: false, wasResumed: false),
            isOfAdapter: true
        )
        machine.failed(machine.number, failure, random: 0, now: .zero, &output)
        return machine
    }

    @Test func `who comes while the adapter is away waits for it as long as who came before`() {
        var machine = Self.waitingMachine(.upTo(.seconds(600)))
        #expect(machine.step == .waitForAdapter)
        var output = ConnectMachine.Output()
        machine.join(Self.waiter(2, at: .seconds(100), .upTo(.seconds(600))), &output)
        machine.alarmRang(now: .seconds(131), &output)
        #expect(output.answers.isEmpty && machine.waiters.map(\.id) == [1, 2])
        machine.alarmRang(now: .seconds(600), &output)
        #expect(output.answers == [ConnectMachine.Output.Answer(waiter: 1, outcome: .failed)])
        machine.alarmRang(now: .seconds(700), &output)
        #expect(output.answers.map(\.waiter) == [1, 2] && machine.isOver)
    }

    @Test func `who waits for an adapter within its own limit is told when that is over`() {
        var machine = Self.waitingMachine(.withinLimit)
        var output = ConnectMachine.Output()
        machine.join(Self.waiter(2, at: .seconds(20), .withinLimit), &output)
        machine.alarmRang(now: .seconds(30), &output)
        machine.alarmRang(now: .seconds(50), &output)
        #expect(output.answers.map(\.waiter) == [1, 2] && machine.isOver)
    }
}
