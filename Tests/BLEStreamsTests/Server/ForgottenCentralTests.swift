import BLEProtocol
import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

/// What is stored of centrals whose bonds another program has: bluetoothd's keys encrypt their links, and the files of
/// this program have no bond with them.
@Suite(.timeLimit(.minutes(10))) struct ForgottenCentralTests {
    private static let encrypted = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)

    /// A server's adapter, a central's, which have each other's keys, and a visitor's.
    private struct Place: Sendable {
        let time: VirtualTime
        let store: PeerStore
        let near: SimulatedAdapter
        let far: SimulatedAdapter
        let visitor: SimulatedAdapter

        /// Whether the store has what the central has configured.
        var isStored: Bool { store.record(of: near.address).served != nil }
    }

    /// Serves with a store in memory or on disk, and runs a body meanwhile.
    private func serving(isOnDisk: Bool, _ body: @escaping @Sendable (Place) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "forgotten-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = isOnDisk ? PeerStore(folder: folder) : PeerStore.inMemory()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far, visitor) = (air.adapter(), air.adapter(), air.adapter())
            air.setSecurity(Self.encrypted, between: near, and: far)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: .radio(far), store: store) { server in
                        for try await _ in server.centralEvents {}
                    }
                }
                try await body(Place(time: time, store: store, near: near, far: far, visitor: visitor))
                group.cancelAll()
            }
        }
        await store.flush()
    }

    /// The central writes a characteristic's configuration on one link, with five seconds behind each value, and
    /// leaves.
    private func configure(_ values: [UInt8], at place: Place, _ wrote: () -> Void) async throws {
        let visitor = try await Central.open(.radio(place.visitor), store: .inMemory())
        let handle = try await visitor.peripheral(place.far.address).withLink { link in
            try #require(try await link.discover().characteristic(Bench.notifying)?.clientConfiguration).handle
        }
        let name = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        try await RawCentral.connected(from: place.near, to: place.far.address) { central in
            for value in values {
                let answer = await central.ask([0x12] + name + [value, 0])
                #expect(answer == [0x13])
                try await place.time.sleep(for: .seconds(5))
                wrote()
            }
        }
        try await place.time.sleep(for: .seconds(5))
    }

    @Test(arguments: [true, false])
    func `a link that ends behind that brings nothing of a forgotten central back`(_ isOnDisk: Bool) async throws {
        let (before, after) = (Recorder<Bool>(), Recorder<PeerRecord>())
        try await serving(isOnDisk: isOnDisk) { place in
            try await configure([1], at: place) {
                before.add(place.isStored)
                place.store.forgetBonds(with: place.near.address)
            }
            after.add(place.store.record(of: place.near.address))
        }
        #expect(before.all == [true] && after.all == [PeerRecord()])
    }

    @Test(arguments: [true, false])
    func `a central that has switched everything off and on again is not taken for a forgotten one`(
        _ isOnDisk: Bool
    ) async throws {
        let stored = Recorder<Bool>()
        try await serving(isOnDisk: isOnDisk) { place in
            try await configure([1, 0, 1], at: place) { stored.add(place.isStored) }
            stored.add(place.isStored)
        }
        #expect(stored.all == [true, false, true, true])
    }
}
