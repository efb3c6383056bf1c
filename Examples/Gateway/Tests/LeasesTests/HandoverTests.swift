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
