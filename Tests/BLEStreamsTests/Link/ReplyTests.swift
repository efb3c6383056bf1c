import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct ReplyTests {
    @Test func `a success that comes when nobody waits any more is given up, not lost`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let unwanted = Recorder<Int>()
            let keep: @Sendable (Int) -> Void = { unwanted.add($0) }
            let limit: @Sendable () -> any Error = { CancellationError() }
            await #expect(throws: CancellationError.self) {
                let _: Int = try await reply(on: time, limit: (.seconds(1), limit), unwanted: keep) {
                    finish in
                    // The work was done in the moment in which it is taken back.
                    { finish(.success(7)) }
                }
            }
            #expect(unwanted.all == [7])
        }
    }

    @Test func `what arrives in time is the caller's`() async throws {
        let unwanted = Recorder<Int>()
        let keep: @Sendable (Int) -> Void = { unwanted.add($0) }
        let value: Int = try await reply(on: PatientTimeline(), unwanted: keep) { finish in
            finish(.success(7))
            return {}
        }
        #expect(value == 7 && unwanted.all.isEmpty)
    }
}
