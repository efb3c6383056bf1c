import Leases
import Testing

@Suite("Confirmation")
struct ConfirmationTests {
    @Test("An owner stops 10 s after the last pulse that came back, less what its clock may be off")
    func stops() throws {
        var (bench, _) = MachineBench.acting()
        bench.pass(seconds: 1)
        #expect(bench.epoch != nil)
        bench.isConfirmed = false
        bench.pass(seconds: 6)
        #expect(bench.epoch != nil)
        let effects = bench.published.count
        bench.pass(seconds: 5)
        #expect(bench.epoch == nil)
        // It asks the broker whether it is the owner still.
        #expect(bench.published.count == effects + 1)
    }

    @Test("A gateway that was suspended doesn't act when it wakes up, whatever it finds first")
    func suspended() {
        var (bench, _) = MachineBench.acting()
        bench.isConfirmed = false
        bench.now += 6000
        #expect(bench.epoch != nil)
        bench.now += 4000
        #expect(bench.epoch == nil)
        #expect(bench.give(.heard(MachineBench.sensor, strength: -60)).release == [MachineBench.sensor])
    }

    @Test("When pulses come back again, it acts only after a new record came back")
    func provesItself() throws {
        var (bench, _) = MachineBench.acting()
        let epoch = try #require(bench.epoch)
        bench.isConfirmed = false
        bench.pass(seconds: 12)
        let renewal = try #require(bench.records.last)
        bench.give(.disconnected)
        #expect(bench.epoch == nil)
        bench.isConfirmed = true
        bench.connect(session: 3)
        bench.subscribe(retained: renewal)
        bench.pass(seconds: 31)
        #expect(bench.epoch == nil)
        bench.pass(seconds: 3)
        let claim = try #require(bench.records.last)
        #expect(claim.epoch > epoch)
    }

    @Test("A pulse that doesn't come back is followed by another one, by which the gateway is confirmed")
    func lostPulse() throws {
        var bench = MachineBench()
        bench.isConfirmed = false
        bench.connect()
        bench.subscribe()
        bench.pass(seconds: 100)
        let claim = try #require(bench.records.last)
        bench.receive(.record(claim))
        // The broker lets the gateway read its pulses from now on; the first one is gone.
        bench.isConfirmed = true
        bench.pass(seconds: 15)
        #expect(bench.epoch == nil)
        bench.pass(seconds: 10)
        #expect(bench.epoch != nil)
    }

    @Test("An owner that needs time to stop does so by as much earlier")
    func parts() {
        var terms = LeaseTerms()
        terms.parting = 2000
        var (bench, _) = MachineBench.acting(terms)
        bench.isConfirmed = false
        bench.now += 6000
        #expect(bench.epoch != nil)
        bench.now += 2000
        #expect(bench.epoch == nil)
    }

    @Test("The durations leave room for clocks that are off", arguments: [Int64(0), 1000, 50_000])
    func allowances(error: Int64) {
        var terms = LeaseTerms()
        terms.clockError = error
        #expect(Int64(terms.willDelay) * 1_000_000 >= 10 * (1_000_000 + error))
        #expect(terms.listening == 30_000)
    }
}
