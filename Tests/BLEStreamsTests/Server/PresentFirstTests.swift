import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// What changes while a consumer is being told what is so: nothing is missed, nothing is told twice.
@Suite(.timeLimit(.minutes(10))) struct PresentFirstTests {
    @Test func `a change that came during the look is told behind what was seen`() async throws {
        try await Self.withConnectedCentral { central in
            let told = Recorder<Bool>()
            let consumer = PresentFirst { event in
                if case .connected = event { told.add(true) } else { told.add(false) }
                return .yes
            }
            let gone = PeripheralServer.Event.disconnected(central, DisconnectReason(.closedLocally))
            // It came and went, and came again; the look has found it.
            for event in [.connected(central), gone, .connected(central)] { _ = consumer.take(event) }
            #expect(told.all.isEmpty)
            consumer.begin(with: [.connected(central)])
            #expect(told.all == [true, false, true])
            _ = consumer.take(.connected(central))
            _ = consumer.take(gone)
            _ = consumer.take(gone)
            #expect(told.all == [true, false, true, false])
        }
    }

    @Test func `an end whose beginning nobody was told is not told`() async throws {
        try await Self.withConnectedCentral { central in
            let told = Recorder<Bool>()
            let consumer = PresentFirst { _ in
                told.add(true)
                return .yes
            }
            _ = consumer.take(.disconnected(central, DisconnectReason(.closedLocally)))
            _ = consumer.take(.subscription(Self.change(central, .none)))
            consumer.begin(with: [])
            #expect(told.all.isEmpty)
        }
    }

    @Test(arguments: Stress.seeds(20))
    func `changes on another thread are told in turn, and the last one last`(seed: UInt64) async throws {
        try await Self.withConnectedCentral { central in
            for round in 0..<100 {
                let told = Recorder<Bool>()
                let present = Mutex(PeripheralServer.SubscriptionChange.Kind.none)
                let consumer = PresentFirst { event in
                    if case .subscription(let change) = event { told.add(change.isSubscribed) }
                    return .yes
                }
                let count = 1 + Int((seed &* 7 &+ UInt64(round)) % 9)
                await Stress.onThreads(2) { thread in
                    var chance = Chance(seed: seed &* 1000 &+ UInt64(round * 2 + thread))
                    if thread == 0 {
                        for number in 1...count {
                            Stress.dawdle(&chance)
                            let kind: PeripheralServer.SubscriptionChange.Kind =
                                number.isMultiple(of: 2) ? .none : .notify
                            // As the server does: it is so before it is told.
                            present.withLock { $0 = kind }
                            _ = consumer.take(.subscription(Self.change(central, kind)))
                        }
                    } else {
                        Stress.dawdle(&chance)
                        let kind = present.withLock { $0 }
                        consumer.begin(with: kind == .none ? [] : [.subscription(Self.change(central, kind))])
                    }
                }
                let all = told.all
                #expect(all.last ?? false == !count.isMultiple(of: 2))
                // Each change but the first follows one of the other kind; the first tells of a subscription.
                #expect(all.enumerated().allSatisfy { $0.element == $0.offset.isMultiple(of: 2) }, "\(all)")
            }
        }
    }

    private static func change(
        _ central: ConnectedCentral,
        _ kind: PeripheralServer.SubscriptionChange.Kind
    ) -> PeripheralServer.SubscriptionChange {
        PeripheralServer.SubscriptionChange(central: central, characteristic: "A003", kind: kind, handle: 0x0012)
    }

    private static func withConnectedCentral(
        _ body: @escaping @Sendable (ConnectedCentral) async throws -> Void
    ) async throws {
        let central = Mutex<ConnectedCentral?>(nil)
        try await Bench.run { server, _ in
            for try await case .connected(let found) in server.centralEvents { central.withLock { $0 = found } }
        } _: { bench in
            try await bench.peripheral.withLink { _ in try await bench.time.sleep(for: .seconds(1)) }
        }
        try await body(try #require(central.withLock { $0 }))
    }
}
