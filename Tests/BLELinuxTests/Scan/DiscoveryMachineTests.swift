import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct DiscoveryMachineTests {
    private typealias Output = DiscoveryMachine.Output

    private static let busy = ManagementFailure.status(.busy, .startDiscovery)
    private static let failed = ManagementFailure.status(.failed, .startDiscovery)
    private static let denied = ManagementFailure.status(.permissionDenied, .startDiscovery)

    /// The discovery runs, for the first time or again.
    private static let first = Output(timer: .start(DiscoveryMachine.firstRound), report: .listening)
    private static let again = Output(timer: .start(DiscoveryMachine.round), report: .listening)

    private func running() -> DiscoveryMachine {
        var machine = DiscoveryMachine()
        #expect(machine.begin() == Output(command: .start))
        #expect(machine.startAnswered(nil) == Self.first)
        return machine
    }

    @Test func `a discovery that ends is started again`() {
        var machine = running()
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(nil) == Self.again)
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
    }

    @Test func `a discovery that has just begun looks again soon, and then in short rounds`() {
        #expect(DiscoveryMachine.firstRound < DiscoveryMachine.round && DiscoveryMachine.round < .seconds(5))
        var machine = running()
        for _ in 0..<5 {
            #expect(
                machine.timerFired() == Output(command: .stop, timer: .start(DiscoveryMachine.stopDeadline))
            )
            #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
            #expect(machine.startAnswered(nil) == Self.again)
        }
    }

    @Test func `a round that can't be ended, or ends unseen, is followed by the next all the same`() {
        var machine = running()
        _ = machine.timerFired()
        #expect(machine.stopFailed() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(nil) == Self.again)
        _ = machine.timerFired()
        #expect(machine.timerFired() == Output(command: .start))
        #expect(machine.stopFailed() == Output())
    }

    @Test func `another program may take its turn between two rounds`() {
        var machine = running()
        _ = machine.timerFired()
        _ = machine.discoveryEnded()
        _ = machine.startAnswered(Self.busy)
        #expect(machine.isSharing)
    }

    @Test func `a discovery that is being ended need not be stopped`() {
        var machine = running()
        _ = machine.timerFired()
        #expect(machine.cancel() == Output(timer: .cancel))
        #expect(machine.discoveryEnded() == Output())
        #expect(machine.stopFailed() == Output())
    }

    @Test func `where every advertisement is reported there are no rounds`() {
        var machine = DiscoveryMachine()
        _ = machine.begin(isUnfiltered: true)
        #expect(machine.startAnswered(nil) == Output(report: .listening))
        #expect(machine.discoveryEnded() == Output(command: .start))
        #expect(machine.startAnswered(nil) == Output(report: .listening))
        #expect(machine.cancel() == Output(command: .stop))
    }

    @Test func `where not every advertisement is reported any more there are rounds from then on`() {
        var machine = unfiltered()
        #expect(machine.lacksMonitor() == Output(timer: .start(DiscoveryMachine.round)))
        #expect(machine.lacksMonitor() == Output())
        #expect(machine.timerFired() == Output(command: .stop, timer: .start(DiscoveryMachine.stopDeadline)))
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(nil) == Self.again)
        #expect(machine.cancel() == Output(command: .stop, timer: .cancel))
        // The answer to a start begins the first round by itself.
        machine = unfiltered()
        _ = machine.discoveryEnded()
        #expect(machine.lacksMonitor() == Output())
        #expect(machine.startAnswered(nil) == Self.again)
        // Without a monitor, the discovery begins.
        machine = DiscoveryMachine()
        #expect(machine.lacksMonitor() == Output(command: .start))
        #expect(machine.startAnswered(nil) == Self.first)
    }

    @Test func `cancelling stops a discovery of its own`() {
        var machine = running()
        #expect(machine.cancel() == Output(command: .stop, timer: .cancel))
        #expect(machine.cancel() == Output())
        #expect(machine.discoveryEnded() == Output())
    }

    @Test func `another program's discovery is used, and left alone`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        #expect(
            machine.startAnswered(Self.busy)
                == Output(timer: .start(DiscoveryMachine.missedEndDeadline), report: .listening)
        )
        #expect(machine.isSharing)
        #expect(machine.cancel() == Output(timer: .cancel))
    }

    @Test func `when the other program's discovery ends, its own begins`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        _ = machine.startAnswered(Self.busy)
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(nil) == Self.first)
        #expect(!machine.isSharing)
    }

    @Test func `the end of a discovery before the answer to a start is somebody else's`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        #expect(machine.discoveryEnded() == Output())
        #expect(machine.startAnswered(nil) == Self.first)
    }

    @Test func `a missed end of another program's discovery does not end the scan in silence`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        _ = machine.startAnswered(Self.busy)
        #expect(machine.timerFired() == Output(command: .start))
    }

    // MARK: What was missed

    /// The deadline of a discovery whose end may have been missed.
    private static let doubt = Output(timer: .start(DiscoveryMachine.missedEndDeadline))

    /// A discovery without rounds, which runs.
    private func unfiltered() -> DiscoveryMachine {
        var machine = DiscoveryMachine()
        #expect(machine.begin(isUnfiltered: true) == Output(command: .start))
        #expect(machine.startAnswered(nil) == Output(report: .listening))
        return machine
    }

    @Test func `where there are no rounds, a missed end does not end the scan in silence`() {
        var machine = unfiltered()
        for _ in 0..<2 {
            #expect(machine.missedEvents() == Self.doubt)
            // However much is lost, the deadline stays.
            #expect(machine.missedEvents() == Output())
            #expect(machine.timerFired() == Output(command: .stop, timer: .start(DiscoveryMachine.stopDeadline)))
            #expect(machine.missedEvents() == Output())
            // It was over.
            #expect(machine.stopFailed() == Output(command: .start, timer: .cancel))
            #expect(machine.missedEvents() == Output())
            #expect(machine.startAnswered(nil) == Output(report: .listening))
        }
    }

    @Test func `an end that is told ends the doubt, and its timer`() {
        var machine = unfiltered()
        #expect(machine.missedEvents() == Self.doubt)
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(nil) == Output(report: .listening))
        // No timer runs.
        #expect(machine.discoveryEnded() == Output(command: .start))
        #expect(machine.startAnswered(nil) == Output(report: .listening))
        #expect(machine.missedEvents() == Self.doubt)
        #expect(machine.timerFired().command == .stop)
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(nil) == Output(report: .listening))
        #expect(machine.missedEvents() == Self.doubt)
        #expect(machine.discoveryEnded(beside: true) == Output(timer: .start(DiscoveryMachine.rest)))
        #expect(machine.missedEvents() == Output())
    }

    @Test func `cancelling in doubt stops the timer, too`() {
        var machine = unfiltered()
        #expect(machine.missedEvents() == Self.doubt)
        #expect(machine.cancel() == Output(command: .stop, timer: .cancel))
        #expect(machine.missedEvents() == Output())
    }

    @Test func `where there are rounds, or another program discovers, there is a timer already`() {
        var machine = running()
        #expect(machine.missedEvents() == Output())
        #expect(machine.timerFired().command == .stop)
        #expect(machine.missedEvents() == Output())
        #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        #expect(machine.startAnswered(Self.busy).timer == .start(DiscoveryMachine.missedEndDeadline))
        #expect(machine.missedEvents() == Output())
    }

    // MARK: Cancellations and failures

    @Test func `a discovery that starts after the cancellation is stopped`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        #expect(machine.cancel() == Output())
        #expect(machine.startAnswered(nil) == Output(command: .stop))
        #expect(machine.startAnswered(nil) == Output())
    }

    @Test func `a start that is refused after the cancellation stops nobody's discovery`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        _ = machine.cancel()
        #expect(machine.startAnswered(Self.busy) == Output())
    }

    @Test func `a passing failure is tried again for a while, and then told`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        for _ in 1..<DiscoveryMachine.patience {
            #expect(machine.startAnswered(Self.failed) == Output(timer: .start(DiscoveryMachine.retryDelay)))
            #expect(machine.timerFired() == Output(command: .start))
        }
        #expect(machine.startAnswered(Self.failed) == Output(report: .failed(Self.failed)))
        #expect(machine.timerFired() == Output())
    }

    /// The kernel's name for its own timeout of a controller's answer (mgmt.c, mgmt_errno_status).
    @Test func `a controller that was slow to answer is asked again`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        let slow = ManagementFailure.status(.authenticationFailed, .startDiscovery)
        #expect(machine.startAnswered(slow) == Output(timer: .start(DiscoveryMachine.retryDelay)))
        #expect(machine.timerFired() == Output(command: .start))
        #expect(machine.startAnswered(.timedOut(.startDiscovery)).timer == .start(DiscoveryMachine.retryDelay))
    }

    @Test func `a success wipes out earlier failures`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        for _ in 0..<10 {
            #expect(machine.startAnswered(Self.failed).timer != nil)
            #expect(machine.timerFired() == Output(command: .start))
            #expect(machine.startAnswered(nil).report == .listening)
            #expect(machine.discoveryEnded() == Output(command: .start, timer: .cancel))
        }
    }

    @Test(arguments: [
        ManagementStatus.permissionDenied, .notPowered, .invalidIndex, .blockedByRFKill, .rejected, .notSupported,
        .unknownCommand,
    ])
    func `a lasting failure is told at once`(_ status: ManagementStatus) {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        let failure = ManagementFailure.status(status, .startDiscovery)
        #expect(machine.startAnswered(failure) == Output(report: .failed(failure)))
    }

    @Test func `cancelling while it waits stops the timer`() {
        var machine = DiscoveryMachine()
        _ = machine.begin()
        _ = machine.startAnswered(Self.failed)
        #expect(machine.cancel() == Output(timer: .cancel))
        #expect(machine.timerFired() == Output())
    }

    // MARK: Beside others

    /// Goes through the rounds of a turn up to the last one's end, which it leaves to the caller.
    private func takeTurn(_ machine: inout DiscoveryMachine) {
        for _ in 1..<DiscoveryMachine.roundsOfTurn {
            #expect(machine.timerFired().command == .stop)
            #expect(machine.discoveryEnded(beside: true) == Output(timer: .start(DiscoveryMachine.courtesy)))
            #expect(machine.timerFired() == Output(command: .start))
            #expect(machine.startAnswered(nil).report == .listening)
        }
        #expect(machine.timerFired().command == .stop)
    }

    @Test func `beside others it lets them begin first after each round, and uses what they discover`() {
        var machine = running()
        #expect(machine.discoveryEnded(beside: true) == Output(timer: .start(DiscoveryMachine.courtesy)))
        // Theirs has begun, and ended: nothing of it was ours.
        #expect(machine.discoveryEnded(beside: true) == Output())
        #expect(machine.timerFired() == Output(command: .start))
        #expect(
            machine.startAnswered(Self.busy)
                == Output(timer: .start(DiscoveryMachine.missedEndDeadline), report: .listening)
        )
        var cancelled = running()
        _ = cancelled.discoveryEnded(beside: true)
        #expect(cancelled.cancel() == Output(timer: .cancel))
        #expect(cancelled.timerFired() == Output())
    }

    @Test func `beside others it rests after each turn`() {
        var machine = running()
        for _ in 0..<3 {
            takeTurn(&machine)
            #expect(machine.discoveryEnded(beside: true) == Output(timer: .start(DiscoveryMachine.rest)))
            #expect(machine.isResting)
            #expect(machine.timerFired() == Output(command: .start))
            #expect(!machine.isResting)
            #expect(machine.startAnswered(nil).report == .listening)
        }
    }

    @Test func `where every advertisement is reported each discovery is a turn`() {
        var machine = DiscoveryMachine()
        _ = machine.begin(isUnfiltered: true)
        _ = machine.startAnswered(nil)
        #expect(machine.discoveryEnded(beside: true) == Output(timer: .start(DiscoveryMachine.rest)))
        #expect(machine.timerFired() == Output(command: .start))
    }

    @Test func `what others discover while it rests is theirs, and used when it wants to begin again`() {
        var machine = running()
        takeTurn(&machine)
        _ = machine.discoveryEnded(beside: true)
        #expect(machine.discoveryEnded(beside: true) == Output())
        #expect(machine.timerFired() == Output(command: .start))
        #expect(machine.startAnswered(Self.busy).report == .listening)
        // They have had their turn.
        #expect(machine.discoveryEnded(beside: true) == Output(command: .start, timer: .cancel))
    }

    @Test func `cancelling while it rests stops the timer, and nobody's discovery`() {
        var machine = running()
        takeTurn(&machine)
        _ = machine.discoveryEnded(beside: true)
        #expect(machine.cancel() == Output(timer: .cancel))
        #expect(machine.timerFired() == Output())
    }
}
