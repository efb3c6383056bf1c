import Leases
import Testing

@Suite("Handover")
struct HandoverTests {
    @Test(
        "An owner yields to a bid by 8 dB, not by less, and not soon after it began",
        arguments: [(-51, true), (-54, false)]
    )
    func yields(strength: Int, isEnough: Bool) throws {
        var (bench, _) = MachineBench.acting()
        let early = try #require(bench.epoch)
        bench.receive(.bid(LeaseBid(epoch: early, gateway: MachineBench.other, strength: strength)))
        #expect(bench.epoch == early)
        for _ in 0..<5 {
            bench.pass(seconds: 30)
            if let record = bench.records.last { bench.receive(.record(record)) }
        }
        let epoch = try #require(bench.epoch)
        let bid = LeaseBid(epoch: epoch, gateway: MachineBench.other, strength: strength)
        let effects = bench.receive(.bid(bid))
        #expect((effects.release == [MachineBench.sensor]) == isEnough)
        if isEnough { #expect(bench.records.last?.state == .released(to: MachineBench.other)) }
    }

    @Test("A gateway that receives the peripheral better for a minute asks for it, once in a while")
    func asks() {
        var bench = MachineBench()
        bench.connect()
        bench.subscribe(retained: MachineBench.foreign(5, 3, after: nil, strength: -80))
        bench.pass(seconds: 59)
        #expect(bench.published.isEmpty)
        bench.pass(seconds: 32)
        let epoch = Epoch(number: 5, gateway: MachineBench.other)
        let bid = LeaseBid(epoch: epoch, gateway: MachineBench.gateway, strength: -60)
        #expect(bench.published == [.bid(bid)])
    }

    @Test("The gateway to which it is released claims at once; others wait", arguments: [true, false])
    func courtesy(isNamed: Bool) {
        var bench = MachineBench()
        bench.connect()
        let held = MachineBench.foreign(5, 3, after: nil)
        bench.subscribe(retained: held)
        bench.pass(seconds: 35)
        let next = isNamed ? MachineBench.gateway : GatewayID(rawValue: 11)
        bench.receive(.record(MachineBench.foreign(5, 4, after: held.mark, state: .released(to: next))))
        #expect(bench.records.count == (isNamed ? 1 : 0))
        bench.pass(seconds: 5)
        #expect(bench.records.count == (isNamed ? 1 : 0))
        bench.pass(seconds: 4)
        #expect(bench.records.count == 1)
    }

    @Test("An owner that hears the peripheral no longer releases it")
    func silence() throws {
        var (bench, _) = MachineBench.acting()
        #expect(bench.epoch != nil)
        bench.pass(seconds: 200, strength: nil)
        #expect(bench.records.last?.state == .released(to: nil))
    }

    @Test("An owner that can't connect lets others claim first, and doesn't ask for it until it is ready once")
    func setback() throws {
        var (bench, _) = MachineBench.acting()
        #expect(bench.give(.unreachable(MachineBench.sensor)).release == [MachineBench.sensor])
        let released = try #require(bench.records.last)
        #expect(released.state == .released(to: nil))
        bench.receive(.record(released))
        bench.pass(seconds: 9)
        #expect(bench.records.last == released, "others come first")
        var other = bench
        let taken = MachineBench.foreign(2000, 3, after: released.mark, strength: -90)
        other.receive(.record(taken))
        other.pass(seconds: 60)
        #expect(other.published.last == bench.published.last, "it doesn't ask for what it can't use")
        other.give(.reached(MachineBench.sensor))
        other.pass(seconds: 65)
        #expect(other.bids.count == 1)

        bench.pass(seconds: 10)
        let claim = try #require(bench.records.last)
        #expect(claim != released && claim.state == .held, "nobody else did")
        bench.receive(.record(claim))
        bench.pass(seconds: 2)
        #expect(bench.epoch != nil)
    }

    @Test("What isn't heard any more is no failure to connect")
    func absent() {
        var (bench, _) = MachineBench.acting()
        bench.pass(seconds: 80, strength: nil)
        #expect(bench.give(.unreachable(MachineBench.sensor)).release.isEmpty)
    }

    @Test("The one that couldn't connect asks again when its setback is over")
    func setbackEnds() {
        var terms = LeaseTerms()
        terms.setback = 200_000
        var (bench, released) = MachineBench.acting(terms)
        bench.give(.unreachable(MachineBench.sensor))
        released = bench.records.last
        if let released { bench.receive(.record(released)) }
        var previous = released?.mark
        for sequence in 1...12 {
            let record = MachineBench.foreign(2000, UInt32(sequence), after: previous, strength: -90)
            previous = record.mark
            bench.receive(.record(record))
            bench.pass(seconds: 30)
            #expect(bench.bids.isEmpty || sequence * 30 > 200)
        }
        #expect(!bench.bids.isEmpty)
    }

    @Test("A gateway that ends releases what it has, and claims nothing more")
    func ends() {
        var (bench, _) = MachineBench.acting()
        let effects = bench.give(.stop)
        #expect(effects.release == [MachineBench.sensor])
        let count = bench.published.count
        if let record = bench.records.last { bench.receive(.record(record)) }
        bench.pass(seconds: 60)
        #expect(bench.published.count == count)
    }
}
