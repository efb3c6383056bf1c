import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// The system's clock is set while a flight recorder records: by a program that asks for the time over the network, on
/// a machine that has no clock of its own.
@Suite(.timeLimit(.minutes(10))) struct FlightClockTests {
    /// A timeline whose clocks go as a test says.
    private final class SetTimeline: Timeline {
        private let times = Mutex<(now: Duration, wall: Duration)>((.zero, .seconds(100_000)))

        var now: Duration { times.withLock { $0.now } }
        var wallTime: ReceptionTime { ReceptionTime(sinceEpoch: times.withLock { $0.wall }, source: .reading) }
        var clock: any Clock<Duration> { ContinuousClock() }
        func randomBits() -> UInt64 { 0 }
        func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> RadioActivity {
            RadioActivity {}
        }

        func pass(_ duration: Duration) {
            times.withLock { times in
                times.now += duration
                times.wall += duration
            }
        }

        /// Sets the wall clock.
        func set(by difference: Duration) { times.withLock { $0.wall += difference } }
    }

    /// The handles that the recorded requests read.
    private func reads(in recorder: FlightRecorder) async throws -> [UInt8] {
        let path = FileManager.default.temporaryDirectory.appending(path: "flight-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await recorder.write(to: path)
        return try records(of: path).compactMap(Packet.init).map { $0.pdu[1] }
    }

    @Test(arguments: [Duration.seconds(1_700_000_000), .seconds(-3600)])
    func `what is kept neither ages nor stays young when the clock is set`(difference: Duration) async throws {
        let (timeline, recorder) = (SetTimeline(), FlightRecorder(keeping: .seconds(300)))
        let link = FakeLink(answers: [SendResult](repeating: .sent, count: 3))
        let choice = AdapterChoice.radio(FakeRadio(link, on: timeline)).recorded(by: recorder)
        let radio = try choice.makeRadio()
        let recorded = try #require(await radio.link())
        #expect(recorded.send([0x0A, 1, 0]) == .sent)
        timeline.set(by: difference)
        timeline.pass(.seconds(200))
        #expect(recorded.send([0x0A, 2, 0]) == .sent)
        let both = try await reads(in: recorder)
        #expect(both == [1, 2])
        timeline.pass(.seconds(200))
        #expect(recorded.send([0x0A, 3, 0]) == .sent)
        let later = try await reads(in: recorder)
        #expect(later == [2, 3])
    }

    @Test func `what is received ages by the same clock, whatever the kernel's time of it`() async throws {
        let (timeline, recorder) = (SetTimeline(), FlightRecorder(keeping: .seconds(300)))
        let link = FakeLink(answers: [])
        defer { link.end() }
        let choice = AdapterChoice.radio(FakeRadio(link, on: timeline)).recorded(by: recorder)
        let radio = try choice.makeRadio()
        let recorded = try #require(await radio.link())
        recorded.start(Listener())
        for handle: UInt8 in 1...3 {
            link.receive([0x1B, handle, 0])
            timeline.pass(.seconds(200))
        }
        let kept = try await reads(in: recorder)
        #expect(kept == [2, 3])
    }
}
