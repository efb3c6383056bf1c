import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Subscriptions of a session that end while its link goes on: the peripheral's services have changed.
@Suite(.timeLimit(.minutes(10))) struct EndedSubscriptionTests {
    private static let moved = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(BluetoothUUID(0xA0FF), [.read], value: .stored([0xFF]))
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4, 5, 6]))
        LocalCharacteristic(Bench.notifying, [.read, .notify], value: .stored([8]))
    }
    private static let without = LocalService(BluetoothUUID(0xA000)) {
        LocalCharacteristic(Bench.readable, [.read, .write], value: .stored([4, 5, 6]))
    }

    /// Lets the peripheral refuse the next request to notify: it gets one that names an attribute which nobody has, and
    /// its refusal names none.
    private static func refuseOnce(_ bench: Bench) {
        let request = PDUFilter.where { $0.count == 5 && $0[0] == 0x12 && $0[3] == 1 && $0[4] == 0 }
        let refusal = PDUFilter.where { $0.count == 5 && $0[0] == 0x01 && $0[1] == 0x12 }
        bench.air.faults.add(.replace(request.sent(by: .central), with: [0x12, 0xF0, 0xFF, 1, 0]).times(1))
        bench.air.faults.add(.replace(refusal.sent(by: .peripheral), with: [0x01, 0x12, 0, 0, 0x01]).times(1))
    }

    @Test func `a planned one that is refused behind the change is made once more, on the same link`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                var (numbers, gaps): ([UInt8], [StreamGap]) = ([], [])
                var link: Link?
                let items = session.notifications(of: Bench.notifying).withGaps().timeout(.seconds(60))
                for try await item in items {
                    switch item {
                    case .gap(let gap): gaps.append(gap)
                    case .value(let value): numbers += Array(value)
                    }
                    if numbers.count == 2 { break }
                    guard gaps.isEmpty else { continue }
                    link = session.link
                    Self.refuseOnce(bench)
                    try await session.write([0xFF], to: Bench.readable)
                }
                #expect(numbers == [1, 2])
                let reasons = gaps.compactMap { ($0.reason as? BLEError)?.code }
                #expect(reasons == [.attributeError])
                #expect(session.link === link)
            }
        }
    }

    @Test func `a planned one without its characteristic ends the session, which says so`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.without])) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                let error = await bleError {
                    for try await _ in session.notifications(of: Bench.notifying).timeout(.seconds(60)) {
                        try await session.write([0xFF], to: Bench.readable)
                    }
                }
                #expect(error?.code == .notFound)
                #expect(session.state.kind == .failed)
            }
        }
    }

    @Test func `a stream beside the plan that is refused behind the change ends and says so`() async throws {
        try await Bench.run(serve: Bench.changing(to: [Self.moved])) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let error = await bleError {
                    for try await _ in session.notifications(of: Bench.notifying).timeout(.seconds(60)) {
                        Self.refuseOnce(bench)
                        try await session.write([0xFF], to: Bench.readable)
                    }
                }
                #expect(error?.code == .attributeError)
                #expect(session.state.isReady)
                // The next one is subscribed anew.
                let next = try await session.notifications(of: Bench.notifying).timeout(.seconds(60)).first()
                #expect(Array(next) == [2])
            }
        }
    }
}
