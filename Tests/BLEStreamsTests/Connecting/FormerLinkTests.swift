import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Callers who come when a link is over, and the rest of the program is not told of that yet: another thread is about
/// to.
@Suite(.timeLimit(.minutes(10))) struct FormerLinkTests {
    @Test func `whoever connects while the last user is leaving waits until the link is down`() async throws {
        try await Bench.run { bench in
            let connector = bench.central.core.connector
            let link = try await connector.connect(to: bench.peripheral, Connector.Wish())
            let current = connector.state.withLock { $0.current.values.first }
            let number = try #require(current)
            // So far its thread has come when another one gets the processor.
            #expect(LinkShare(number).leave(bench.peripheral))
            async let value = bench.peripheral.withLink { try await $0.read(Bench.readable) }
            try await bench.time.sleep(for: .seconds(1))
            link.beginClosing()
            let octets = try await value
            #expect(Array(octets) == [1, 2, 3])
            #expect(bench.central.leftovers.isEmpty, "\(bench.central.leftovers)")
        }
    }

    @Test func `a link is said to be lost before the next one is said to be made`() async throws {
        try await Bench.run { bench in
            let (connector, peripheral) = (bench.central.core.connector, bench.peripheral)
            let (states, links) = (Recorder<Peripheral.ConnectionState>(), Recorder<Link>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await state in peripheral.connectionStates { states.add(state) } }
                try await bench.time.sleep(for: .seconds(1))
                let link = try await connector.connect(to: peripheral, Connector.Wish())
                bench.air.faults.add(.swallow(.opcode(0x0A)).times(1))
                bench.air.faults.add(.dropLink(after: .seconds(1)))
                // On other threads it would go on from here before the watchers are told.
                let caller = OperationCallback { _ in
                    _ = connector.connect(to: peripheral, Connector.Wish()) { result in
                        if case .success(let link) = result { links.add(link) }
                    }
                }
                link.bearer.begin(.aside(ReadValue(handle: 3)), for: caller)
                try await bench.time.sleep(for: .seconds(10))
                for link in [link] + links.all { link.beginClosing() }
                links.forget()
                try await bench.time.sleep(for: .seconds(3))
                group.cancelAll()
            }
            let words = states.all.map { String("\($0)".prefix(9)) }
            let (once, end) = (["connectin", "connected", "disconnec"], "disconnec")
            #expect(words == [end] + once + once + [end])
            #expect(bench.central.leftovers.isEmpty, "\(bench.central.leftovers)")
        }
    }
}
