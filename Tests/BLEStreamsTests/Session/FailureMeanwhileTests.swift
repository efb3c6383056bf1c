import BLEProtocol
import Testing

@testable import BLEStreams

/// A session that fails while a stream of it begins, as its driver may let it do in another thread.
@Suite(.timeLimit(.minutes(10))) struct FailureMeanwhileTests {
    @Test func `a stream of all values has what was kept of each subscription, and then the error`() async throws {
        try await Bench.run { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying).subscribing(to: Bench.counter)
            let session = bench.central.session(plan)
            let channels = session.channels
            for (number, subscription) in plan.subscriptions.enumerated() {
                let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
                let value = CharacteristicValue(bytes: [UInt8(number)], time: time)
                channels.deliver([value], of: subscription)
            }
            // The driver is asked as soon as the stream has begun with a subscription.
            let failure = BLEError(.disconnected, operation: "session", cause: "the link was lost")
            channels.whenWished { channels.finish(throwing: failure)() }
            var numbers: [UInt8] = []
            let error = await bleError { for try await item in session.values { numbers.append(item.value[0]) } }
            channels.whenWished(nil)
            #expect(numbers == [0, 1])
            #expect(error?.code == .disconnected && session.state == .disconnected(.initial))
        }
    }
}
