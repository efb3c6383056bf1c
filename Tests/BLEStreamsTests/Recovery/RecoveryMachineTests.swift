import BLERadio
import Testing

@testable import BLEStreams

@Suite struct RecoveryMachineTests {
    private typealias Output = RecoveryMachine.Output

    private static let steps: [RecoveryPlan.Step] = [.restartScan, .powerCycle]

    private func machine(_ steps: [RecoveryPlan.Step] = steps) -> RecoveryMachine {
        RecoveryMachine(
            RecoveryPlan(steps: steps, silence: .seconds(60), patience: .seconds(15), rest: .seconds(600))
        )
    }

    /// One that has heard something in a scan, and nothing since.
    private func deafMachine(_ steps: [RecoveryPlan.Step] = steps) -> (RecoveryMachine, Output) {
        var machine = machine(steps)
        #expect(machine.scanStarted() == Output())
        #expect(machine.heard() == Output(timers: [.start(.silence, .seconds(60))]))
        #expect(machine.heard() == Output())
        #expect(machine.timerFired(.silence) == Output(timers: [.start(.silence, .seconds(60))]))
        let output = machine.timerFired(.silence)
        return (machine, output)
    }

    @Test func `silence means nothing before something was heard`() {
        var machine = machine()
        #expect(machine.scanStarted() == Output())
        #expect(machine.timerFired(.silence) == Output())
        #expect(machine.scanStopped() == Output())
    }

    @Test func `where somebody is always heard, silence counts from the beginning of a scan`() {
        var plan = RecoveryPlan(steps: Self.steps, silence: .seconds(60))
        plan.hearsAlways = true
        var machine = RecoveryMachine(plan)
        #expect(machine.scanStarted() == Output(timers: [.start(.silence, .seconds(60))]))
        let output = machine.timerFired(.silence)
        #expect(output.reports.first == .noticed(.deaf(.seconds(60))))
        #expect(output.step == .restartScan)
    }

    @Test func `a scan that hears in time is watched on, and one that ends is not`() {
        var plan = RecoveryPlan(steps: Self.steps, silence: .seconds(60))
        plan.hearsAlways = true
        var machine = RecoveryMachine(plan)
        _ = machine.scanStarted()
        #expect(machine.heard() == Output())
        #expect(machine.timerFired(.silence) == Output(timers: [.start(.silence, .seconds(60))]))
        #expect(machine.scanStopped() == Output(timers: [.cancel(.silence)]))
        #expect(machine.timerFired(.silence) == Output())
    }

    @Test func `what is heard as a scan ends begins no watch of a scan that is over`() {
        var machine = machine()
        _ = machine.scanStarted()
        _ = machine.heard()
        _ = machine.scanStopped()
        #expect(machine.heard() == Output())
        #expect(machine.timerFired(.silence) == Output())
    }

    @Test func `what is heard in time is no silence`() {
        var machine = machine()
        _ = machine.scanStarted()
        _ = machine.heard()
        for _ in 0..<10 {
            #expect(machine.timerFired(.silence) == Output(timers: [.start(.silence, .seconds(60))]))
            #expect(machine.heard() == Output())
        }
        #expect(machine.scanStopped() == Output(timers: [.cancel(.silence)]))
    }

    @Test func `a deaf adapter has its scan begun again, then is switched off and on, then is left alone`() {
        var (machine, output) = deafMachine()
        #expect(
            output
                == Output(
                    timers: [.cancel(.silence), .cancel(.rest)],
                    reports: [.noticed(.deaf(.seconds(60))), .trying(.restartScan, number: 1)],
                    step: .restartScan
                )
        )
        #expect(machine.isCuring)
        // What still comes while the step is under way proves nothing.
        #expect(machine.heard() == Output())
        #expect(machine.stepEnded(succeeded: true) == Output(timers: [.start(.patience, .seconds(15))]))
        #expect(
            machine.timerFired(.patience)
                == Output(reports: [.trying(.powerCycle, number: 2)], step: .powerCycle)
        )
        #expect(machine.stepEnded(succeeded: true) == Output(timers: [.start(.patience, .seconds(15))]))
        #expect(
            machine.timerFired(.patience)
                == Output(
                    timers: [.start(.rest, .seconds(600))],
                    reports: [.unresolved(.deaf(.seconds(60)), after: 2)]
                )
        )
        #expect(!machine.isCuring)
        #expect(machine.noticed(.unanswered("Set Powered")) == Output())
    }

    @Test func `the first advertisement behind a step is the cure, and steps count until it has been well for long`() {
        var (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        #expect(
            machine.heard()
                == Output(
                    timers: [.cancel(.patience), .start(.silence, .seconds(60)), .start(.rest, .seconds(600))],
                    reports: [.recovered(after: 1)]
                )
        )
        // Deaf again at once: the step that helped for a moment is not repeated.
        _ = machine.timerFired(.silence)
        #expect(machine.timerFired(.silence).step == .powerCycle)
        _ = machine.stepEnded(succeeded: true)
        _ = machine.heard()
        #expect(machine.timerFired(.rest) == Output())
        _ = machine.timerFired(.silence)
        #expect(machine.timerFired(.silence).step == .restartScan)
    }

    @Test func `a controller that does not answer is not told to scan`() {
        var machine = machine()
        _ = machine.scanStarted()
        let output = machine.noticed(.unanswered("Start Discovery"))
        #expect(output.step == .powerCycle)
        #expect(machine.noticed(.unanswered("Set Powered")) == Output())
        let end = machine.stepEnded(succeeded: true)
        #expect(end.reports == [.recovered(after: 1)])
    }

    @Test func `an attempt that the kernel keeps is not met with another scan`() {
        var machine = machine()
        _ = machine.scanStarted()
        let peer = BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random)
        #expect(machine.noticed(.keepsAttempt(peer)).step == .powerCycle)
        #expect(machine.stepEnded(succeeded: true).reports == [.recovered(after: 1)])
    }

    @Test func `a step that could not be taken is followed by the next one`() {
        var machine = machine([.powerCycle, .powerCycle])
        _ = machine.noticed(.unanswered("Start Discovery"))
        #expect(machine.stepEnded(succeeded: false).reports == [.trying(.powerCycle, number: 2)])
        #expect(
            machine.stepEnded(succeeded: false).reports == [.unresolved(.unanswered("Start Discovery"), after: 2)]
        )
        // Somebody has seen to it.
        #expect(machine.adapterReturned() == Output())
        #expect(
            machine.noticed(.unanswered("Start Discovery")).reports.last
                == .unresolved(.unanswered("Start Discovery"), after: 2)
        )
        _ = machine.timerFired(.rest)
        _ = machine.adapterReturned()
        #expect(machine.noticed(.unanswered("Start Discovery")).step == .powerCycle)
    }

    @Test func `a plan without steps only tells`() {
        let (machine, output) = deafMachine([])
        #expect(output.reports == [.noticed(.deaf(.seconds(60))), .unresolved(.deaf(.seconds(60)), after: 0)])
        #expect(output.step == nil && !machine.isCuring)
    }

    @Test func `whoever stops scanning ends the waiting for a cure`() {
        var (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        #expect(machine.scanStopped() == Output(timers: [.cancel(.patience), .start(.rest, .seconds(600))]))
        #expect(machine.timerFired(.patience) == Output())
    }

    @Test func `what was switched off behind a step is not switched on by the next one`() {
        var (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        let output = machine.timerFired(.patience, isOff: true)
        #expect(output == Output(timers: [.start(.rest, .seconds(600))], endsScan: true))
        #expect(!machine.isCuring && machine.scanStopped() == Output())
    }

    @Test func `what was switched off during a step is not switched on by the next one`() {
        var machine = machine([.powerCycle, .powerCycle])
        _ = machine.noticed(.unanswered("Set Powered"))
        let output = machine.stepEnded(succeeded: false, isOverruled: true)
        #expect(output == Output(timers: [.start(.rest, .seconds(600))], endsScan: true))
        #expect(!machine.isCuring && !machine.isStepUnderWay)
    }

    @Test func `links that are up are not ended for silence soon, but in the end`() {
        let goesOn = Output(timers: [.start(.patience, .seconds(60))])
        var (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        for _ in 0..<RecoveryMachine.spared {
            #expect(machine.timerFired(.patience, besideLinks: true) == goesOn)
            #expect(!machine.isCuring && !machine.isStepUnderWay)
        }
        #expect(
            machine.timerFired(.patience, besideLinks: true)
                == Output(reports: [.trying(.powerCycle, number: 2)], step: .powerCycle)
        )
    }

    @Test func `a plan that begins with the power waits too, and is quiet where somebody is heard meanwhile`() {
        var machine = machine([.powerCycle])
        _ = machine.scanStarted(missesOthers: true)
        #expect(
            machine.timerFired(.silence, besideLinks: true)
                == Output(
                    timers: [.cancel(.silence), .cancel(.rest), .start(.patience, .seconds(60))],
                    reports: [.noticed(.deaf(.seconds(60)))]
                )
        )
        #expect(machine.heard().reports == [.recovered(after: 0)])
        #expect(machine.timerFired(.patience, besideLinks: true) == Output())
    }

    @Test func `links are spared only while there are any, and by an adapter that answers`() {
        var (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        _ = machine.timerFired(.patience, besideLinks: true)
        #expect(machine.timerFired(.patience, besideLinks: false).step == .powerCycle)
        (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        _ = machine.timerFired(.patience, besideLinks: true)
        let output = machine.noticed(.unanswered("Start Discovery"))
        #expect(output.step == .powerCycle && output.timers == [.cancel(.patience), .cancel(.rest)])
    }

    @Test func `whoever stops scanning ends the waiting beside links`() {
        var (machine, _) = deafMachine()
        _ = machine.stepEnded(succeeded: true)
        _ = machine.timerFired(.patience, besideLinks: true)
        #expect(machine.scanStopped() == Output(timers: [.cancel(.patience), .start(.rest, .seconds(600))]))
        #expect(machine.timerFired(.patience, besideLinks: true) == Output())
    }

    @Test func `where others are missed than those who are connected to, silence counts at once`() {
        var machine = machine()
        #expect(machine.scanStarted(missesOthers: true) == Output(timers: [.start(.silence, .seconds(60))]))
        #expect(machine.timerFired(.silence).reports.first == .noticed(.deaf(.seconds(60))))
    }

    @Test func `a link that is made proves that the adapter hears`() {
        var machine = machine()
        #expect(machine.linked() == Output())
        _ = machine.scanStarted(missesOthers: true)
        #expect(machine.linked() == Output())
        #expect(machine.timerFired(.silence) == Output(timers: [.start(.silence, .seconds(60))]))
        (machine, _) = deafMachine()
        #expect(machine.isStepUnderWay && machine.linked() == Output())
        _ = machine.stepEnded(succeeded: true)
        #expect(!machine.isStepUnderWay)
        #expect(machine.linked().reports == [.recovered(after: 1)])
    }
}
