import Leases
import Testing

@Suite("Claims")
struct ClaimTests {
    @Test("A gateway claims only when it has listened, above what its disk has, and after what the broker retains")
    func listensFirst() throws {
        var bench = MachineBench()
        bench.connect()
        let tail = MachineBench.foreign(5, 3, after: nil, state: .released(to: nil))
        bench.subscribe(retained: tail)
        bench.pass(seconds: 30)
        #expect(bench.published.isEmpty)
        bench.pass(seconds: 3)
        let claim = try #require(bench.records.first)
        #expect(claim.epoch == Epoch(number: 1001, gateway: MachineBench.gateway))
        #expect(claim.after == tail.mark)
        #expect(bench.epoch == nil)
    }

    @Test("It acts only when its claim has come back as the next record")
    func waitsForEcho() throws {
        var bench = MachineBench()
        bench.connect()
        let tail = MachineBench.foreign(5, 3, after: nil, state: .released(to: nil))
        bench.subscribe(retained: tail)
        bench.pass(seconds: 33)
        let claim = try #require(bench.records.first)
        bench.receive(.record(claim))
        bench.pass(seconds: 6)
        #expect(bench.epoch == claim.epoch)
    }

    @Test("A claim that came second is void: the first one wins, whichever the broker retains")
    func firstWins() throws {
        var bench = MachineBench()
        bench.connect()
        let tail = MachineBench.foreign(5, 3, after: nil, state: .released(to: nil))
        bench.subscribe(retained: tail)
        bench.pass(seconds: 33)
        let claim = try #require(bench.records.first)
        bench.receive(.record(MachineBench.foreign(6, 4, after: tail.mark)))
        bench.receive(.record(claim))
        bench.pass(seconds: 60)
        #expect(bench.epoch == nil)
        #expect(bench.records.count == 1)
    }

    @Test("An owner repeats its record when a void one is in its place, and goes on by the same epoch")
    func repeatsItsRecord() throws {
        var (bench, own) = MachineBench.acting()
        let epoch = try #require(bench.epoch)
        let void = MachineBench.foreign(2, 1, after: nil)
        let effects = bench.receive(.record(void))
        guard case .record(let again)? = effects.publish.first?.message else {
            Issue.record("nothing is published")
            return
        }
        #expect(again.after == void.mark && again.epoch == epoch && again.mark != own?.mark)
        #expect(bench.epoch == epoch)
    }

    @Test("An owner stops at once when another record is the next one")
    func yieldsToNextRecord() throws {
        var (bench, own) = MachineBench.acting()
        let mark = try #require(own?.mark)
        let effects = bench.receive(.record(MachineBench.foreign(2000, 1, after: mark)))
        #expect(effects.release == [MachineBench.sensor])
        #expect(bench.epoch == nil)
    }

    @Test("A record ends by its release, by the will of its session, or after the lease", arguments: [0, 1, 2])
    func endsOfRecord(way: Int) {
        var bench = MachineBench()
        bench.connect()
        bench.subscribe(retained: MachineBench.foreign(5, 3, after: nil))
        bench.pass(seconds: 60)
        #expect(bench.published.isEmpty)
        switch way {
        case 0:
            let mark = Mark(session: SessionID(rawValue: 99), sequence: 3)
            bench.receive(.record(MachineBench.foreign(5, 4, after: mark, state: .released(to: nil))))
        case 1:
            bench.give(.gone(MachineBench.other, SessionID(rawValue: 98)))
            bench.pass(seconds: 5)
            #expect(bench.published.isEmpty)
            bench.give(.gone(MachineBench.other, SessionID(rawValue: 99)))
        default:
            bench.pass(seconds: 59)
            #expect(bench.published.isEmpty)
        }
        bench.pass(seconds: 5)
        #expect(bench.records.count == 1)
    }

    @Test("What is left of an earlier subscription doesn't hide what the broker retains")
    func leftovers() {
        var bench = MachineBench()
        bench.connect()
        bench.receive(.record(MachineBench.foreign(4, 2, after: Mark(session: SessionID(rawValue: 99), sequence: 1))))
        bench.subscribe(retained: MachineBench.foreign(5, 3, after: nil))
        bench.pass(seconds: 60)
        #expect(bench.published.isEmpty)
    }

    @Test("A record whose predecessor couldn't be read counts as its gateway's until its lease ends")
    func unreadablePredecessor() {
        var bench = MachineBench()
        bench.connect()
        bench.subscribe()
        bench.receive(.record(MachineBench.foreign(5, 3, after: Mark(session: SessionID(rawValue: 98), sequence: 1))))
        bench.pass(seconds: 119)
        #expect(bench.published.isEmpty)
        bench.pass(seconds: 5)
        #expect(bench.records.count == 1)
    }

    @Test("A will that isn't trusted ends nothing")
    func distrustedWill() {
        var terms = LeaseTerms()
        terms.trustsWills = false
        var bench = MachineBench(terms: terms)
        bench.connect()
        bench.subscribe(retained: MachineBench.foreign(5, 3, after: nil))
        bench.give(.gone(MachineBench.other, SessionID(rawValue: 99)))
        bench.pass(seconds: 60)
        #expect(bench.published.isEmpty)
    }

    @Test("When it is connected again, the last owner claims what it left at once, and acts when it has listened")
    func resumes() throws {
        var (bench, own) = MachineBench.acting()
        let first = try #require(bench.epoch)
        #expect(bench.give(.disconnected).release == [MachineBench.sensor])
        #expect(bench.epoch == nil)
        bench.connect(session: 2)
        bench.subscribe(retained: own)
        let claim = try #require(bench.records.last)
        #expect(claim.epoch > first && claim.after == own?.mark)
        bench.receive(.record(claim))
        bench.pass(seconds: 29)
        #expect(bench.epoch == nil)
        bench.pass(seconds: 2)
        #expect(bench.epoch == claim.epoch)
    }

    @Test("A claim that the broker has refused is made anew after a while")
    func refused() throws {
        var bench = MachineBench()
        bench.connect()
        bench.subscribe()
        bench.pass(seconds: 34)
        let claim = try #require(bench.records.last)
        bench.give(.refused(MachineBench.sensor, claim.mark))
        bench.pass(seconds: 30)
        #expect(bench.records.count == 1)
        bench.pass(seconds: 15)
        #expect(bench.records.count == 2)
        let other = try #require(bench.records.last)
        #expect(other.after == claim.after, "the first one is not on the topic")
        bench.receive(.record(other))
        bench.pass(seconds: 6)
        #expect(bench.epoch == other.epoch)
    }

    @Test("A renewal that the broker has refused is made anew, and a release names the record before it")
    func refusedRenewal() throws {
        let acting = MachineBench.acting()
        var bench = acting.bench
        let mark = try #require(acting.record?.mark)
        bench.pass(seconds: 46)
        let renewal = try #require(bench.records.last)
        #expect(renewal.mark != mark && renewal.after == mark)
        bench.give(.refused(MachineBench.sensor, renewal.mark))
        bench.pass(seconds: 41)
        let second = try #require(bench.records.last)
        #expect(second.mark != renewal.mark && second.after == mark)
        #expect(bench.epoch != nil)
        bench.give(.refused(MachineBench.sensor, second.mark))
        bench.give(.stop)
        let release = try #require(bench.records.last)
        #expect(release.isReleased && release.after == mark)
    }
}
