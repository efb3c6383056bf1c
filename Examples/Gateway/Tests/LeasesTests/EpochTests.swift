import Leases
import Testing

@Suite("Epochs")
struct EpochTests {
    @Test("A gateway claims nothing before its disk has the epoch, and nothing while its disk is full")
    func waitsForDisk() {
        var bench = MachineBench(stored: 0)
        bench.hasDisk = false
        bench.connect()
        bench.subscribe()
        bench.give(.storeFailed)
        bench.pass(seconds: 60)
        #expect(bench.published.isEmpty)
        bench.give(.stored(1024))
        bench.pass(seconds: 5)
        #expect(bench.records.first?.epoch.number == 1)
    }

    @Test("It tries a full disk again every 30 s")
    func triesAgain() {
        var bench = MachineBench(stored: 0)
        bench.hasDisk = false
        bench.connect()
        bench.give(.storeFailed)
        var stores = 0
        for _ in 0..<65 {
            bench.now += 1000
            if bench.give(.timer(.link)).store != nil {
                stores += 1
                bench.give(.storeFailed)
            }
        }
        #expect(stores == 2)
    }

    @Test("Who knows a higher epoch than a valid record has reminds its owner")
    func reminds() {
        var bench = MachineBench()
        bench.connect()
        bench.subscribe(retained: MachineBench.foreign(50, 3, after: nil))
        bench.give(.disconnected)
        bench.connect(session: 2)
        bench.subscribe(retained: MachineBench.foreign(4, 9, after: nil))
        bench.pass(seconds: 3)
        #expect(bench.published == [.note(Epoch(number: 50, gateway: MachineBench.other))])
    }

    @Test("An owner that is reminded goes on by a higher epoch")
    func isReminded() throws {
        var (bench, _) = MachineBench.acting()
        bench.receive(.note(Epoch(number: 1500, gateway: MachineBench.other)))
        let renewal = try #require(bench.records.last)
        #expect(renewal.epoch.number == 1501)
        let effects = bench.receive(.record(renewal))
        #expect(effects.acquire.map(\.epoch) == [renewal.epoch])
        #expect(effects.release.isEmpty)
    }

    @Test("An epoch that no gateway may use is void, and takes nothing with it", arguments: [0, Epoch.limit + 1, .max])
    func unusable(number: UInt64) throws {
        var (bench, own) = MachineBench.acting()
        let epoch = try #require(bench.epoch)
        bench.receive(.record(MachineBench.foreign(number, 1, after: own?.mark)))
        bench.receive(.note(Epoch(number: number, gateway: MachineBench.other)))
        #expect(bench.epoch == epoch)
    }

    @Test("At the highest number a gateway claims no more")
    func limit() {
        var bench = MachineBench(stored: .max)
        bench.connect()
        bench.subscribe()
        bench.pass(seconds: 60)
        #expect(bench.published.isEmpty)
    }

    @Test("A gateway that forgets a peripheral doesn't use its epochs again")
    func forgets() throws {
        var (bench, _) = MachineBench.acting()
        let epoch = try #require(bench.epoch)
        bench.pass(seconds: 200, strength: nil)
        #expect(bench.epoch == nil)
        bench.pass(seconds: 600, strength: nil)
        #expect(bench.machine.peripherals == 0)
        bench.give(.heard(MachineBench.sensor, strength: -60))
        bench.subscribe()
        bench.pass(seconds: 40)
        #expect(try #require(bench.records.last).epoch > epoch)
    }
}
