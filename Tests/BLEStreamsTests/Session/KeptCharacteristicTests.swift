import BLESimulator
import Testing

@testable import BLEStreams

/// Kept sessions whose plan names a characteristic as discovered, with a peripheral that may get other firmware before
/// the program begins again.
@Suite(.timeLimit(.minutes(10))) struct KeptCharacteristicTests {
    /// A peripheral with one characteristic, whose handle doesn't depend on its type.
    private static func description(_ characteristic: BluetoothUUID) -> LocalPeripheral {
        LocalPeripheral(name: "Bench") {
            LocalService(BluetoothUUID(0xA000)) {
                LocalCharacteristic(characteristic, [.read, .notify], value: .stored([1]))
            }
        }
    }

    @Test(arguments: [false, true])
    func `a restored session takes no other characteristic for the one that was discovered`(
        isReplaced: Bool
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            var links = 0
            for try await event in server.centralEvents {
                guard case .disconnected = event else { continue }
                links += 1
                // Behind the discovery and the first session.
                guard isReplaced, links == 2 else { continue }
                try server.replaceServices(Self.description(BluetoothUUID(0xA0F0)).services)
            }
        }
        try await Bench.run(description: Self.description(Bench.notifying), serve: serve) { bench in
            let (store, address) = (PeerStore.inMemory(), bench.peripheralAdapter.address)
            let first = try await Central.open(.radio(bench.centralAdapter), store: store)
            let discovered = try await first.peripheral(address).withLink { link in
                try #require(try await link.discover().characteristic(Bench.notifying))
            }
            var plan = Session.Plan(address).subscribing(to: discovered)
            plan.isKept = true
            try await first.withSession(plan) { try await $0.ready() }
            let second = try await Central.open(.radio(bench.centralAdapter), store: store)
            #expect(second.keptPlans.map(\.subscriptions) == [plan.subscriptions])
            try await second.withFleet { fleet in
                let session = try #require(try fleet.restore().first)
                _ = try await session.states.take(until: { $0.state.isReady || $0.state.kind == .failed }).collect()
                guard isReplaced else {
                    #expect(session.state.isReady)
                    return
                }
                guard case .failed(let error) = session.state else {
                    Issue.record("\(session.state)")
                    return
                }
                #expect(error.code == .servicesChanged && error.remedy.contains("by its UUID"))
            }
        }
    }
}
