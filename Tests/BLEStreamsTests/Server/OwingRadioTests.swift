import BLERadio
import BLEStreams
import RadioDoubles
import Testing

/// A peripheral that ends while its radio still undoes what was cancelled.
@Suite(.timeLimit(.minutes(10))) struct OwingRadioTests {
    /// A radio that has finished when the test says so.
    private final class OwingRadio: IdleRadio {
        let asked: AsyncStream<@Sendable () -> Void>
        private let ask: AsyncStream<@Sendable () -> Void>.Continuation

        init() { (asked, ask) = AsyncStream.makeStream() }

        func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
            ask.yield(done)
            return RadioActivity {}
        }

        func nobodyAsks() { ask.finish() }
    }

    @Test func `its end waits for the radio, so that no advertisement stays behind`() async {
        let radio = OwingRadio()
        let ended = Recorder<Bool>()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await LocalPeripheral.beacon([]).run(on: radio)
                ended.add(true)
                radio.nobodyAsks()
            }
            group.cancelAll()
            var count = 0
            for await finish in radio.asked {
                count += 1
                #expect(ended.all.isEmpty)
                finish()
            }
            #expect(count == 1)
        }
    }
}
