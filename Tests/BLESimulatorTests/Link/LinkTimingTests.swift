import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@Suite(.timeLimit(.minutes(10))) struct LinkTimingTests {
    @Test func `a request and its response take two connection intervals`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(50))
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            let times = Log<Duration>()
            let (far, near) = (pair.peripheralLink, pair.centralLink)
            let server = pair.air.adapter(settings: AdapterSettings(linkTiming: timing))
            withExtendedLifetime((far, near, server)) {}
            _ = near.send([0x0A, 3, 0])
            while pair.atPeripheral.pdus.isEmpty { try await time.sleep(for: .microseconds(100)) }
            times.append(time.now)
            _ = far.send([0x0B, 1])
            while pair.atCentral.pdus.isEmpty { try await time.sleep(for: .microseconds(100)) }
            times.append(time.now)
            _ = near.send([0x0A, 3, 0])
            while pair.atPeripheral.pdus.count < 2 { try await time.sleep(for: .microseconds(100)) }
            times.append(time.now)
            let gaps = zip(times.values.dropFirst(), times.values).map { $0 - $1 }
            #expect(gaps == [.milliseconds(50), .milliseconds(50)])
        }
    }

    @Test func `packets in an event are limited, and a PDU arrives with its last packet`() async throws {
        try await VirtualTime.run { time in
            // 4 packets of 27 octets: 108 octets an event. A frame of 100 octets and its header is 104.
            let timing = LinkTiming(connectionInterval: .milliseconds(100), packetsPerEvent: 4, dataLength: 27)
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            let pdu: [UInt8] = [0x52, 3, 0] + Array(repeating: 1, count: 97)
            let long: [UInt8] = [0x52, 3, 0] + Array(repeating: 2, count: 297)
            for pdu in [pdu, pdu, long] { _ = pair.centralLink.send(pdu) }
            var counts: [Int] = []
            try await time.sleep(for: .milliseconds(100))
            for _ in 0..<5 {
                counts.append(pair.atPeripheral.pdus.count)
                try await time.sleep(for: .milliseconds(100))
            }
            #expect(counts == [1, 2, 2, 2, 3])
        }
    }

    @Test func `the peripheral's latency delays what is sent to it, not what it sends`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(100), peripheralLatency: 9)
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            var delays: [Duration] = []
            for count in 1...5 {
                let sent = time.now
                _ = pair.centralLink.send([0x52, 3, 0])
                while pair.atPeripheral.pdus.count < count { try await time.sleep(for: .milliseconds(1)) }
                delays.append(time.now - sent)
            }
            #expect(delays.dropFirst().allSatisfy { $0 > .milliseconds(900) && $0 <= .milliseconds(1001) })
            let sent = time.now
            _ = pair.peripheralLink.send([0x1B, 3, 0])
            while pair.atCentral.pdus.isEmpty { try await time.sleep(for: .milliseconds(1)) }
            #expect(time.now - sent <= .milliseconds(101))
        }
    }

    /// Known figures: 251 octets on LE 1M take 2088 µs, the empty answer 80 µs, twice 150 µs between: 2468 µs.
    @Test(
        arguments: [
            (LinkTiming(connectionInterval: .milliseconds(50)), 244, Double(20 * 251) / 0.050 * 244 / 248),
            (LinkTiming(connectionInterval: .milliseconds(50), phy: .le2M), 244, Double(35 * 251) / 0.050 * 244 / 248),
            (LinkTiming(connectionInterval: .milliseconds(30), packetsPerEvent: 6, dataLength: 27), 23, 4600.0),
        ]
    )
    func `the ceiling is that of the packets which fit into an interval`(
        timing: LinkTiming,
        size: Int,
        ceiling: Double
    ) async throws {
        let rate = try #require(timing.throughput(pduSize: size))
        #expect(abs(rate - ceiling) < ceiling * 0.02)
    }

    @Test func `a link without an interval has no ceiling`() {
        #expect(LinkTiming.immediate.throughput(pduSize: 244) == nil)
    }

    @Test(arguments: [LinkTiming.linux, .fast, LinkTiming(connectionInterval: .milliseconds(45), dataLength: 27)])
    func `a sender that keeps the buffer full reaches the ceiling`(timing: LinkTiming) async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            let command: [UInt8] = [0x52, 3, 0] + Array(repeating: 7, count: 241)
            let began = time.now
            let end = began + .seconds(30)
            while time.now < end {
                while pair.centralLink.send(command) == .sent {}
                try await time.sleep(for: timing.connectionInterval)
            }
            let octets = Double(pair.atPeripheral.pdus.count * command.count)
            let ceiling = try #require(timing.throughput(pduSize: command.count))
            #expect(octets / 30 > ceiling * 0.98)
            #expect(octets / 30 < ceiling * 1.02)
        }
    }
}
