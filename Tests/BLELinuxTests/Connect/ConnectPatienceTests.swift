import Testing

@testable import BLELinux

@Suite struct ConnectPatienceTests {
    private typealias Output = ConnectPatience.Output

    private static func timer(_ attempt: Int, _ delay: Duration) -> Output.Timer {
        Output.Timer(attempt: attempt, delay: delay)
    }

    @Test
    func `the kernel is short with a peer that has just been asked for, and patient with one that is seldom heard`() {
        var patience = ConnectPatience()
        let began = patience.began(1, failures: 0)
        #expect(began == Output(patience: .seconds(3), timer: Self.timer(1, ConnectPatience.hesitation)))
        let seldom = patience.timerFired(1)
        #expect(seldom == Output(patience: .seconds(11), timer: Self.timer(1, ConnectPatience.absence)))
        #expect(patience.timerFired(1) == Output(patience: .seconds(3)))
        #expect(patience.timerFired(1) == Output())
    }

    @Test func `it is short again when the attempt ends`() {
        var patience = ConnectPatience()
        _ = patience.began(1, failures: 0)
        _ = patience.timerFired(1)
        #expect(patience.ended(1) == Output(patience: .seconds(3)))
        #expect(patience.ended(1) == Output())
        #expect(patience.timerFired(1) == Output())
    }

    @Test func `of several attempts the one that wants longest decides`() {
        var patience = ConnectPatience()
        _ = patience.began(1, failures: 0)
        #expect(patience.began(2, failures: 0).patience == nil)
        #expect(patience.timerFired(1).patience == .seconds(11))
        #expect(patience.timerFired(2).patience == nil)
        #expect(patience.ended(1).patience == nil)
        #expect(patience.ended(2).patience == .seconds(3))
    }

    @Test func `after a while without anybody the kernel is told again`() {
        var patience = ConnectPatience()
        #expect(patience.began(1, failures: 0).patience == .seconds(3))
        #expect(patience.ended(1).patience == nil)
        #expect(patience.began(2, failures: 0).patience == .seconds(3))
    }

    /// A peer is heard with each of its advertisements while nobody waits for its answer, and answers with the next
    /// one.
    @Test(arguments: Array(stride(from: 100, through: 10_250, by: 50)))
    func `no rhythm of advertising falls through`(_ period: Int) {
        for phase in stride(from: 0, to: period, by: max(10, period / 20)) {
            let connected = Self.connects(every: period, first: phase)
            #expect(connected ?? .max <= 4 * period + 12_000, "every \(period) ms, first after \(phase) ms")
        }
    }

    /// When a peer is connected to that advertises every so many milliseconds; `nil` where it isn't within ten minutes.
    private static func connects(every period: Int, first phase: Int) -> Int? {
        var patience = ConnectPatience()
        var (now, failures, inForce, heard) = (0, 0, Duration.zero, phase)
        while now < 600_000 {
            let began = patience.began(failures, failures: failures)
            inForce = began.patience ?? inForce
            while heard < now { heard += period }
            // What the timers change until it is heard.
            var timer = began.timer
            var due = now
            while let next = timer {
                due += Int(next.delay / .milliseconds(1))
                guard due < heard else { break }
                let output = patience.timerFired(failures)
                inForce = output.patience ?? inForce
                timer = output.timer
            }
            if .milliseconds(period) < inForce { return heard + period }
            now = heard + Int(inForce / .milliseconds(1))
            _ = patience.ended(failures)
            failures += 1
        }
        return nil
    }
}
