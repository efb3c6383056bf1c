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
}
