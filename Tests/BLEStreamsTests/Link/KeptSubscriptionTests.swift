import BLESimulator
import BLEStreams
import Foundation
import Testing

/// What becomes of subscriptions that a bonded peripheral has kept over a lost link, when nobody wants the values any
/// more.
@Suite(.timeLimit(.minutes(10))) struct KeptSubscriptionTests {
    private static let encrypted = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)

    /// A peripheral that is bonded and sends a number each second, as long as it isn't told to be silent.
    ///
    /// - Parameter isPaired: whether the program pairs with it; else it has its keys, and the program knows nothing of
    ///   that.
    private static func run(
        isPaired: Bool = false,
        _ body: @escaping @Sendable (Bench, Quiet) async throws -> Void
    ) async throws {
        let quiet = Quiet()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for number in 0..<UInt32.max {
                try await bench.time.sleep(for: .seconds(1))
                if await !quiet.isOn { _ = try? await server.notify(number.octets, of: Bench.notifying) }
            }
        }
        try await Bench.run(serve: serve) { bench in
            if !isPaired {
                bench.air.setSecurity(encrypted, between: bench.centralAdapter, and: bench.peripheralAdapter)
            }
            try await body(bench, quiet)
        }
    }

    private actor Quiet {
        private(set) var isOn = false
        func begin() { isOn = true }
        func end() { isOn = false }
    }

    /// Subscribes, and leaves when the link is lost; returns the last value.
    private static func loseSubscribedLink(_ bench: Bench, _ peripheral: Peripheral) async throws -> UInt32 {
        var last: UInt32 = 0
        do {
            try await peripheral.withLink { link in
                for try await value in link.notifications(of: Bench.notifying).timeout(.seconds(10)) {
                    last = UInt32(octets: value)
                    bench.air.faults.add(.dropLink(insteadOf: .notifications))
                }
            }
            Issue.record("the link was not lost")
        } catch let error as BLEError {
            #expect(error.code == .disconnected)
        }
        bench.air.faults.removeAll()
        return last
    }

    private static func notifications(_ bench: Bench) -> Int {
        bench.sent(by: .peripheral).count { $0.first == 0x1B }
    }

    @Test func `values that nobody wants are switched off on the next link, behind what the program does there`()
        async throws
    {
        try await Self.run { bench, _ in
            _ = try await Self.loseSubscribedLink(bench, bench.peripheral)
            bench.air.clearTrace()
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                #expect(bench.writes.isEmpty, "the program comes first")
                try await bench.time.sleep(for: .seconds(15))
                #expect(bench.writes == [[0, 0]])
                let count = Self.notifications(bench)
                try await bench.time.sleep(for: .seconds(60))
                #expect(Self.notifications(bench) == count)
            }
            #expect(bench.writes == [[0, 0]])
        }
    }

    @Test func `whoever subscribes again goes on with the first value of the link`() async throws {
        try await Self.run { bench, _ in
            let last = try await Self.loseSubscribedLink(bench, bench.peripheral)
            bench.air.clearTrace()
            try await bench.peripheral.withLink { link in
                try await bench.time.sleep(for: .seconds(5))
                let values = try await link.notifications(of: Bench.notifying).collect(20).map {
                    UInt32(octets: $0)
                }
                #expect(values.first.map { $0 > last } ?? false)
                #expect(zip(values, values.dropFirst()).allSatisfy { $0 + 1 == $1 })
                #expect(Self.notifications(bench) <= 21, "none of them was lost")
                // A stream that has ended switches its values off behind its consumer's back.
                try await bench.time.sleep(for: .seconds(2))
                #expect(bench.writes == [[1, 0], [0, 0]])
            }
        }
    }

    @Test func `a link that ends before the values come is left in order`() async throws {
        try await Self.run(isPaired: true) { bench, quiet in
            try await bench.peripheral.withLink { try await $0.pair() }
            _ = try await Self.loseSubscribedLink(bench, bench.peripheral)
            await quiet.begin()
            bench.air.clearTrace()
            try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
            #expect(bench.writes == [[0, 0]])
            try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
            #expect(bench.writes == [[0, 0]], "once is enough")
        }
    }

    @Test func `they are switched off although the services have been forgotten on that link`() async throws {
        try await Self.run { bench, _ in
            _ = try await Self.loseSubscribedLink(bench, bench.peripheral)
            bench.air.clearTrace()
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                link.forgetServices()
                try await bench.time.sleep(for: .seconds(15))
                #expect(bench.writes == [[0, 0]])
                let count = Self.notifications(bench)
                try await bench.time.sleep(for: .seconds(60))
                #expect(Self.notifications(bench) == count)
            }
        }
    }

    @Test func `a program that is started again switches off what its last run left on`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "kept-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await Self.run(isPaired: true) { bench, quiet in
            let address = bench.peripheralAdapter.address
            let store = PeerStore(folder: folder)
            let before = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await before.peripheral(address).withLink { try await $0.pair() }
            _ = try await Self.loseSubscribedLink(bench, before.peripheral(address))
            await store.flush()
            await quiet.begin()
            bench.air.clearTrace()
            let after = try await Central.open(.radio(bench.centralAdapter), store: PeerStore(folder: folder))
            try await after.peripheral(address).withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                try await bench.time.sleep(for: .seconds(15))
                #expect(bench.writes == [[0, 0]])
            }
        }
    }

    @Test func `what an earlier program left on is switched off though nobody knows of it, once its values come`()
        async throws
    {
        try await Self.run { bench, quiet in
            let address = bench.peripheralAdapter.address
            _ = try await Self.loseSubscribedLink(bench, bench.peripheral)
            await quiet.begin()
            bench.air.clearTrace()
            let other = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            try await other.peripheral(address).withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                try await bench.time.sleep(for: .seconds(60))
                #expect(bench.writes.isEmpty)
                await quiet.end()
                try await bench.time.sleep(for: .seconds(5))
                #expect(bench.writes == [[0, 0]] && Self.notifications(bench) <= 2)
            }
        }
    }

    @Test func `a peripheral that refuses to be silent is asked once on a link`() async throws {
        try await Self.run { bench, _ in
            _ = try await Self.loseSubscribedLink(bench, bench.peripheral)
            bench.air.clearTrace()
            bench.air.faults.add(
                .replace(.responses) { $0.first == 0x13 ? [0x01, 0x12, 0, 0, 0x03] : $0 },
                on: bench.centralAdapter
            )
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                try await bench.time.sleep(for: .seconds(60))
            }
            #expect(bench.writes == [[0, 0]])
        }
    }
}
