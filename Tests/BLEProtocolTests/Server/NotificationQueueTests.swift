import BLEProtocol
import Testing

/// Where notifications wait for one client, what is dropped, and how all of them are counted.
@Suite struct NotificationQueueTests {
    private func subscribed(limit: Int = 64) -> ServedClient {
        var limits = ATTServer.Limits()
        limits.notifications = limit
        var client = ServedClient.ofSample(limits: limits)
        _ = client.sends("12 0d00 0300")
        return client
    }

    private func offer(_ values: Range<Int>, _ bound: ATTServer.Bound, to client: inout ServedClient) throws -> [Int] {
        try values.map { value in
            try client.server.notify(12, [UInt8(value)], bound, database: client.database).dropped
        }
    }

    private func sent(_ values: [Int]) -> [String] { values.map { "1b0c000" + String($0) } }

    /// `offered sent dropped waiting`.
    private func counts(_ client: ServedClient) -> [Int] {
        let counts = client.server.notificationCounts
        #expect(counts.offered == counts.sent + counts.dropped + counts.waiting)
        return [counts.offered, counts.sent, counts.dropped, counts.waiting]
    }

    @Test func `of the newest few the oldest makes room`() throws {
        var client = subscribed()
        #expect(try offer(0..<6, .newest(2), to: &client) == [0, 0, 1, 1, 1, 1])
        #expect(counts(client) == [6, 0, 4, 2])
        #expect(client.receives() == sent([4, 5]))
        #expect(counts(client) == [6, 2, 4, 0])
    }

    @Test func `what belongs together is not whole once one of them has made room, and what follows is refused`()
        throws
    {
        var client = subscribed()
        let before = client.server.breaks(of: 12)
        for value in [0, 1] as [UInt8] {
            try client.server.notify(12, [value], .window(4), continuing: before, database: client.database)
        }
        #expect(client.server.breaks(of: 12).hasDroppedNothing(since: before))
        #expect(try offer(2..<3, .newest(2), to: &client) == [1])
        let breaks = client.server.breaks(of: 12)
        #expect(breaks.isSameSubscription(as: before) && !breaks.hasDroppedNothing(since: before))
        #expect(throws: ATTServer.SendRefusal.displaced) {
            try client.server.notify(12, [3], .window(4), continuing: before, database: client.database)
        }
        #expect(client.receives() == sent([1, 2]))
        // Those that begin now belong to nothing earlier.
        let now = client.server.breaks(of: 12)
        try client.server.notify(12, [4], .window(4), continuing: now, database: client.database)
        #expect(client.receives() == sent([4]))
    }

    @Test func `what belongs together may be cut once the MTU is smaller, and what follows is refused`() throws {
        var client = subscribed()
        client.exchangesMTU(100)
        let before = client.server.breaks(of: 12)
        try client.server.notify(12, [0], .window(4), continuing: before, database: client.database)
        client.exchangesMTU(100)
        try client.server.notify(12, [1], .window(4), continuing: before, database: client.database)
        client.exchangesMTU(50)
        #expect(!client.server.breaks(of: 12).hasCutNothing(since: before))
        #expect(throws: ATTServer.SendRefusal.narrowed) {
            try client.server.notify(12, [2], .window(4), continuing: before, database: client.database)
        }
        // Those that begin now are made for it.
        let now = client.server.breaks(of: 12)
        client.exchangesMTU(200)
        try client.server.notify(12, [3], .window(4), continuing: now, database: client.database)
    }

    @Test func `of the oldest few what is too much is dropped`() throws {
        var client = subscribed()
        #expect(try offer(0..<5, .oldest(2), to: &client) == [0, 0, 1, 1, 1])
        #expect(counts(client) == [5, 0, 3, 2])
        #expect(client.receives() == sent([0, 1]))
        #expect(try offer(5..<6, .oldest(2), to: &client) == [0])
        #expect(client.receives() == sent([5]))
        #expect(counts(client) == [6, 3, 3, 0])
    }

    @Test func `what is unbounded passes the limit that others wait for, and takes nobody's room`() throws {
        var client = subscribed(limit: 2)
        #expect(try offer(0..<7, .unbounded, to: &client).allSatisfy { $0 == 0 })
        #expect(try offer(7..<9, .shared, to: &client).allSatisfy { $0 == 0 })
        #expect(throws: ATTServer.SendRefusal.full) { try client.server.notify(12, [9], database: client.database) }
        #expect(counts(client) == [9, 0, 0, 9])
        #expect(client.receives() == sent(Array(0..<9)))
    }

    @Test func `a bound that has room again tells it, whatever waits within others`() throws {
        var limits = ATTServer.Limits()
        limits.notifications = 4
        let service = LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(BluetoothUUID(0xA001), [.notify])  // 2, 3; 4 configures
            LocalCharacteristic(BluetoothUUID(0xA002), [.notify])  // 5, 6; 7 configures
        }
        var client = ServedClient([service], limits: limits)
        _ = client.sends("12 0400 0100")
        _ = client.sends("12 0700 0100")
        func notify(_ handle: UInt16, _ count: Int, _ bound: ATTServer.Bound) throws {
            for _ in 0..<count { _ = try client.server.notify(handle, [1], bound, database: client.database) }
        }
        /// How many are sent until there is room again.
        func passed() -> Int {
            var passed = 0
            while client.server.nextPDU() != nil {
                passed += 1
                if client.server.sent().room.contains(.notifications) { break }
            }
            return passed
        }
        try notify(6, 40, .newest(40))
        try notify(3, 2, .window(2))
        #expect(throws: ATTServer.SendRefusal.full) { try notify(3, 1, .window(2)) }
        try notify(6, 40, .newest(80))
        #expect(passed() == 41, "half of the window, though forty others wait")
        try notify(3, 4, .shared)
        #expect(throws: ATTServer.SendRefusal.full) { try notify(3, 1, .shared) }
        try notify(6, 40, .newest(80))
        #expect(passed() == 43, "the rest of the window, the forty before them, and half of the four")
    }

    @Test func `the one that is being given to the link stays, and doesn't count for the bound`() throws {
        var client = subscribed()
        _ = try offer(0..<1, .newest(1), to: &client)
        #expect(client.server.nextPDU() == [0x1B, 12, 0, 0])
        #expect(try offer(1..<4, .newest(1), to: &client) == [0, 1, 1])
        #expect(counts(client) == [4, 0, 2, 2])
        #expect(client.receives() == sent([0, 3]))
    }

    @Test func `a client is behind from the first value without room until nothing waits`() throws {
        var client = subscribed(limit: 2)
        _ = try offer(0..<2, .shared, to: &client)
        #expect(!client.server.notificationCounts.isBehind)
        #expect(throws: ATTServer.SendRefusal.full) { try client.server.notify(12, [2], database: client.database) }
        #expect(client.server.notificationCounts.isBehind && client.server.notificationCounts.changes == 1)
        // Still the same time.
        #expect(throws: ATTServer.SendRefusal.full) { try client.server.notify(12, [2], database: client.database) }
        #expect(client.server.notificationCounts.changes == 1)
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.sent().room == .notifications)
        #expect(client.server.notificationCounts.isBehind)
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.sent().room.contains(.backlog))
        #expect(!client.server.notificationCounts.isBehind && client.server.notificationCounts.changes == 2)
        _ = try offer(3..<6, .newest(1), to: &client)
        #expect(client.server.notificationCounts.changes == 3)
    }

    @Test func `a sender with a window waits, and makes nobody fall behind`() throws {
        var client = subscribed()
        _ = try offer(0..<2, .window(2), to: &client)
        #expect(throws: ATTServer.SendRefusal.full) {
            try client.server.notify(12, [2], .window(2), database: client.database)
        }
        #expect(!client.server.notificationCounts.isBehind)
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.sent().room == .notifications)
        #expect(try offer(2..<3, .window(2), to: &client) == [0])
        let isEmpty = client.server.watchForEmptiness(of: 12)
        #expect(!isEmpty)
        #expect(client.receives() == sent([1, 2]))
        #expect(client.output.room.contains(.empty))
        let isEmptyNow = client.server.watchForEmptiness(of: 12)
        #expect(isEmptyNow)
        #expect(counts(client) == [3, 3, 0, 0])
    }

    @Test func `what waits is dropped when the client takes its subscription back, and counted`() throws {
        var client = subscribed()
        _ = try offer(0..<3, .unbounded, to: &client)
        #expect(client.server.nextPDU() != nil)
        // The first one has been handed out; it is sent, as before.
        #expect(client.sends("12 0d00 0000") == sent([0]) + ["13"])
        #expect(counts(client) == [3, 1, 2, 0])
    }

    @Test func `when the bearer ends nothing waits any more, and nothing is counted after it`() throws {
        var client = subscribed()
        _ = try offer(0..<3, .newest(2), to: &client)
        #expect(client.server.nextPDU() != nil)
        #expect(client.server.notificationCounts.isBehind)
        _ = client.server.ended()
        #expect(counts(client) == [3, 0, 3, 0])
        #expect(!client.server.notificationCounts.isBehind)
        _ = client.server.sent()
        client.server.countDropped()
        #expect(counts(client) == [3, 0, 3, 0])
        #expect(throws: ATTServer.SendRefusal.closed) {
            try client.server.notify(12, [3], .unbounded, database: client.database)
        }
    }

    @Test func `a value that the program gave up is counted as dropped`() throws {
        var client = subscribed()
        client.server.countDropped()
        #expect(counts(client) == [1, 0, 1, 0])
        #expect(client.server.notificationCounts.isBehind)
        _ = try offer(0..<1, .shared, to: &client)
        #expect(client.receives() == sent([0]))
        #expect(!client.server.notificationCounts.isBehind)
    }

    @Test func `any order of offers and sendings is counted exactly, and keeps the order of what is sent`() throws {
        for seed in UInt64(1)...200 {
            var chance = SplitMix(seed)
            var client = subscribed(limit: 4)
            var numbers: [UInt8] = []
            var number: UInt8 = 0
            for _ in 0..<120 {
                if chance.next() % 3 == 0, let pdu = client.server.nextPDU() {
                    numbers.append(pdu[3])
                    _ = client.server.sent()
                } else {
                    let bounds: [ATTServer.Bound] = [.shared, .window(3), .unbounded, .newest(2), .oldest(2)]
                    let bound = bounds[Int(chance.next() % 5)]
                    do {
                        try client.server.notify(12, [number], bound, database: client.database)
                    } catch ATTServer.SendRefusal.full {
                        #expect(bound == .shared || bound == .window(3))
                    }
                    number += 1
                }
                _ = counts(client)
            }
            while let pdu = client.server.nextPDU() {
                numbers.append(pdu[3])
                _ = client.server.sent()
            }
            #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
            #expect(counts(client)[1] == numbers.count && counts(client)[3] == 0)
            #expect(!client.server.notificationCounts.isBehind)
        }
    }
}

/// A generator that gives the same numbers for the same seed.
private struct SplitMix {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
