import BLESimulator
import BLEStreams
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimedTests {
    private static let number = TypedCharacteristic(Bench.notifying) { reader throws(MalformedValue) in
        try reader.uint32()
    }

    @Test func `a typed value keeps the time at which it came`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                for number in UInt32(1)...3 {
                    try await bench.time.sleep(for: .seconds(60))
                    try await server.notify(number.octets, of: Bench.notifying)
                }
            }
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                let samples = try await link.notifications(of: Self.number.timed).collect(3)
                #expect(samples.map(\.value) == [1, 2, 3])
                #expect(samples.allSatisfy { $0.time.source == .simulation })
                let first = try #require(samples.first)
                let minutes = samples.map { ($0.time.sinceEpoch - first.time.sinceEpoch) / .seconds(60) }
                #expect(minutes.map { $0.rounded() } == [0, 1, 2])
                #expect(first.time.isoText.hasPrefix("2024-01-01T00:01:"))
            }
        }
    }

    @Test func `a value that is malformed is the same error`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let long = TypedCharacteristic(Bench.readable) { reader throws(MalformedValue) in try reader.bytes(9) }
                let error = await bleError { _ = try await link.read(long.timed) }
                #expect(error?.code == .malformedValue)
            }
        }
    }

    @Test func `a value of a key that only reads can't be written, and the remedy is a key that writes`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let key = TypedCharacteristic(Bench.readable) { reader throws(MalformedValue) in try reader.bytes(3) }
                let sample = try await link.read(key.timed)
                let error = await bleError { try await link.write(sample, to: key.timed) }
                #expect(error?.code == .notSupported && error?.remedy.contains("encode") == true)
            }
        }
    }

    @Test func `a time is a date`() {
        let time = ReceptionTime(sinceEpoch: .milliseconds(1_704_067_200_250), source: .kernel)
        #expect(time.date == Date(timeIntervalSince1970: 1_704_067_200.25))
        #expect(time.date.formatted(.iso8601) == "2024-01-01T00:00:00Z")
    }
}
