import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

/// Sessions that are restored from a folder in which one file was damaged between two runs of the program.
@Suite(.timeLimit(.minutes(10))) struct RestoredBesideDamageTests {
    private static func plan(_ address: BluetoothAddress) -> Session.Plan {
        var plan = Session.Plan(address).subscribing(to: Bench.notifying)
        plan.isKept = true
        return plan
    }

    @Test func `the other one is restored and works, and the lost one is kept again once it was added anew`()
        async throws
    {
        try await StoreChild.with { child in
            let warnings = Recorder<BLEError>()
            try await Bench.run(serve: Bench.sendForEver) { bench in
                let radio = bench.air.adapter()
                let (lost, other) = (bench.peripheralAdapter.address, radio.address)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await Bench.description.run(on: radio) { try await Bench.sendForEver($0, bench) }
                    }
                    let store = PeerStore(folder: child.folder) { warnings.add($0) }
                    let first = try await Central.open(.radio(bench.centralAdapter), store: store)
                    try await first.withFleet { fleet in
                        for address in [lost, other] { try await fleet.add(Self.plan(address)).ready() }
                    }
                    await bench.time.holding { await store.flush() }
                    #expect(warnings.all.isEmpty)

                    let path = try Self.file(of: lost, in: child)
                    try Data([1, 2, 3]).write(to: URL(filePath: path))
                    let next = PeerStore(folder: child.folder) { warnings.add($0) }
                    let second = try await Central.open(.radio(bench.centralAdapter), store: next)
                    try await second.withFleet { fleet in
                        let restored = try fleet.restore()
                        #expect(restored.map(\.plan) == [Self.plan(other)])
                        let values = try #require(restored.first).notifications(of: Bench.notifying)
                        _ = try await values.timeout(.seconds(60)).collect(3)
                        try await fleet.add(Self.plan(lost)).ready()
                    }
                    await bench.time.holding { await next.flush() }
                    #expect(warnings.all.map(\.object) == [path])

                    let last = PeerStore(folder: child.folder) { warnings.add($0) }
                    let third = try await Central.open(.radio(bench.centralAdapter), store: last)
                    #expect(Set(third.keptPlans.map(\.target)) == [.addresses([lost]), .addresses([other])])
                    #expect(warnings.all.count == 1)
                    group.cancelAll()
                }
            }
        }
    }

    /// Where the store keeps what it knows of a peripheral.
    private static func file(of address: BluetoothAddress, in child: StoreChild) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: child.folder)
        let start = "\(address)".replacing(":", with: "-")
        let name = try #require(names.first { $0.hasPrefix(start) && $0.hasSuffix(".json") })
        return "\(child.folder)/\(name)"
    }
}
