import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Subscriptions for which the link is being raised when it ends: what ends it may be what the raise tells later, once
/// files were read.
@Suite struct EndedRaiseTests {
    /// Where the subscription waits for the raise.
    enum Waiting: CaseIterable {
        case demanded, refused, unlisted
    }

    private static let lost = DisconnectReason(.keyMissing)
    private static let error = BLEError(.securityFailed, operation: "encrypt link", object: "", cause: "keys are gone")

    /// A machine with a subscription that waits for a more secure link.
    private static func machine(_ waiting: Waiting) -> LinkMachine {
        var machine = LinkMachine(maximumMTU: 517, servedClient: ServerClient(), remembered: nil)
        if waiting != .unlisted { machine.add(GATTDatabase(services: [.heartRate(at: 1)]), of: [.heartRate]) }
        if waiting == .demanded { machine.demands[LinkMachine.heartRate] = .encrypted }
        var output = LinkMachine.Output()
        machine.subscribeToHeartRate(&output)
        while let pdu = machine.send(&output) {
            // There is no hash, and all else takes encryption.
            let code: UInt8 = pdu[0] == 0x08 ? 0x0A : 0x0F
            machine.receive([0x01, pdu[0], pdu[1], pdu[2], code], &output)
        }
        #expect(output.rest?.raises.count == 1, "\(waiting)")
        return machine
    }

    /// What the step tells consumers of their ends.
    private static func ends(
        in machine: inout LinkMachine,
        _ step: (inout LinkMachine, inout LinkMachine.Output) -> Void
    ) -> [LinkFailure?] {
        var output = LinkMachine.Output()
        step(&machine, &output)
        return (output.rest?.notices ?? []).compactMap { notice -> LinkFailure?? in
            if case .ended(_, let failure) = notice { .some(failure) } else { nil }
        }
    }

    private static func end(_ machine: inout LinkMachine) -> [LinkFailure?] {
        ends(in: &machine) { machine, output in _ = machine.ended(lost, &output) }
    }

    @Test(arguments: Waiting.allCases) func `they are told why the raise has failed`(waiting: Waiting) {
        var machine = Self.machine(waiting)
        #expect(Self.end(&machine).isEmpty)
        let told = Self.ends(in: &machine) { $0.raised($0.lastRaise, .failed(Self.error), &$1) }
        let handle: UInt16 = waiting == .unlisted ? 1 : 4
        let failure = GATTFailure.attribute(.insufficientEncryption, handle: handle)
        let expected: LinkFailure =
            waiting == .demanded
            ? .demand(.encrypted, because: Self.error) : .notRaised(failure, because: Self.error)
        #expect(told == [expected])
        #expect(machine.operations.isEmpty && machine.subscriptions.isEmpty && machine.raising.isEmpty)
    }

    @Test(arguments: Waiting.allCases, [false, true])
    func `a raise that hasn't failed leaves them the end of the link`(waiting: Waiting, isDone: Bool) {
        var machine = Self.machine(waiting)
        #expect(Self.end(&machine).isEmpty)
        let told = Self.ends(in: &machine) { $0.raised($0.lastRaise, isDone ? .done : .declined, &$1) }
        #expect(told == [.ended(Self.lost)])
        #expect(machine.operations.isEmpty && machine.subscriptions.isEmpty && machine.raising.isEmpty)
    }

    @Test(arguments: Waiting.allCases) func `who leaves behind the end withdraws the wish`(waiting: Waiting) {
        var machine = Self.machine(waiting)
        #expect(Self.end(&machine).isEmpty)
        var output = LinkMachine.Output()
        for id in machine.subscriptions.map(\.key) { machine.unsubscribe(id, &output) }
        let isWithdrawn = output.rest?.raises.contains { if case .leave = $0 { true } else { false } }
        #expect(isWithdrawn == true)
        #expect(machine.operations.isEmpty && machine.subscriptions.isEmpty && machine.raising.isEmpty)
        let told = Self.ends(in: &machine) { $0.raised($0.lastRaise, .failed(Self.error), &$1) }
        #expect(told.isEmpty)
    }

    @Test func `another subscriber of the same characteristic is told the end at once`() {
        var machine = Self.machine(.demanded)
        var output = LinkMachine.Output()
        // It came without a demand.
        machine.demands = SecurityDemands()
        machine.subscribeToHeartRate(&output)
        #expect(machine.send(&output)?.first == 0x12)
        #expect(Self.end(&machine) == [.procedure(.disconnected(Self.lost))])
        #expect(machine.subscriptions.count == 1)
    }
}
