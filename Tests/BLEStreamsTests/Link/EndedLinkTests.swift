import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// What a link says that is over.
@Suite(.timeLimit(.minutes(10))) struct EndedLinkTests {
    /// Each stream of a link that ended in a way; what iterating it throws.
    private func errors(on link: Link) async -> [String: BLEError?] {
        [
            "notifications": await bleError { for try await _ in link.notifications(of: Bench.notifying) {} },
            "by handle": await bleError { for try await _ in link.notifications(of: .handle(16)) {} },
            "values": await bleError { for try await _ in link.values(of: Bench.notifying) {} },
            "changes": await bleError { for try await _ in link.serviceChanges {} },
            "first": await bleError { _ = try await link.notifications(of: Bench.notifying).first() },
            "read": await bleError { _ = try await link.read(Bench.readable) },
        ]
    }

    @Test(arguments: [false, true])
    func `a stream of a link that is over throws disconnected, as a read does`(isLost: Bool) async throws {
        try await Bench.run { bench in
            let link: Link
            if isLost {
                link = try await bench.peripheral.withLink { link in
                    bench.air.faults.add(.dropLink(after: .zero))
                    await bench.peripheral.connectionStates.firstDisconnected()
                    return link
                }
            } else {
                link = try await bench.peripheral.withLink { $0 }
            }
            for (name, error) in await errors(on: link) {
                #expect(error?.code == .disconnected, "\(name)")
                #expect(error?.reason?.kind == (isLost ? .supervisionTimeout : .closedLocally), "\(name)")
            }
        }
    }

    @Test func `a stream under way ends without an error where this side closes the link`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            try await withThrowingTaskGroup(of: Int.self) { group in
                try await bench.peripheral.withLink { link in
                    let stream = link.notifications(of: Bench.notifying)
                    group.addTask { try await stream.reduce(into: 0) { count, _ in count += 1 } }
                    try await bench.time.sleep(for: .seconds(5))
                }
                let count = try await group.next()
                #expect(count == 3)
            }
        }
    }
}

extension BLEStream<Peripheral.ConnectionState> {
    fileprivate func firstDisconnected() async {
        _ = try? await first { if case .disconnected = $0 { true } else { false } }
    }
}
