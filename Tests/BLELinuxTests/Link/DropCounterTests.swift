import Testing

@testable import BLELinux

@Suite struct DropCounterTests {
    @Test func `a running total becomes what was lost since, across its wrap`() {
        var counter = DropCounter()
        #expect(counter.lost(upTo: nil) == 0)
        #expect(counter.lost(upTo: 0) == 0)
        #expect(counter.lost(upTo: 5) == 5)
        #expect(counter.lost(upTo: nil) == 0)
        #expect(counter.lost(upTo: 5) == 0)
        #expect(counter.lost(upTo: UInt32.max) == Int(UInt32.max) - 5)
        #expect(counter.lost(upTo: 2) == 3)
    }

    @Test func `a total that the socket was asked for is ahead of the datagrams that come after it`() {
        var counter = DropCounter()
        #expect(counter.lost(byNow: nil) == 0)
        #expect(counter.lost(upTo: 5) == 5)
        #expect(counter.lost(byNow: 5) == 0)
        #expect(counter.lost(byNow: 9) == 4)
        #expect(counter.lost(byNow: 9) == 0)
        // Queued before the loss that is counted already, in the midst of it, at its end, and behind the next one.
        #expect(counter.lost(upTo: 5) == 0)
        #expect(counter.lost(upTo: 7) == 0)
        #expect(counter.lost(byNow: 9) == 0)
        #expect(counter.lost(upTo: 9) == 0)
        #expect(counter.lost(upTo: 12) == 3)
        #expect(counter.lost(byNow: 14) == 2)
        #expect(counter.lost(upTo: 15) == 1)
    }

    @Test func `such a total wraps around, too`() {
        var counter = DropCounter()
        #expect(counter.lost(upTo: UInt32.max) == Int(UInt32.max))
        #expect(counter.lost(byNow: 2) == 3)
        #expect(counter.lost(upTo: UInt32.max) == 0)
        #expect(counter.lost(upTo: 2) == 0)
    }
}
