import BLERadio
import BLESimulator
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import BLEStreams

/// Files are touched on the store's own queues and nowhere else: neither the radio's thread nor a task waits for a
/// disk.
@Suite(.timeLimit(.minutes(10))) struct StoreThreadTests {
    @Test func `links, bonds, sessions and served centrals touch files on the store's queue only`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "threads-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let places = Recorder<Bool>()
        let store: @Sendable () -> PeerStore = {
            PeerStore(folder: folder) {
                places.add(PeerStore.isOnQueue)
            }
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            for _ in 0..<2 {
                // As two runs of the programs on both sides.
                let (here, there) = (store(), store())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await Bench.description.run(on: .radio(far), store: there) { server in
                            for try await _ in server.centralEvents {}
                        }
                    }
                    let central = try await Central.open(.radio(near), store: here)
                    let peripheral = central.peripheral(far.address)
                    // The first run pairs; the second gives the adapter its keys before it connects.
                    try await peripheral.withLink { link in
                        try await link.pair()
                        try await link.expect(Bench.readable, reads: [1, 2, 3])
                    }
                    near.forgetBonds()
                    var plan = Session.Plan(peripheral).subscribing(to: Bench.notifying)
                    plan.isKept = true
                    try await central.withSession(plan) { session in
                        try await session.ready()
                        try await time.sleep(for: .seconds(5))
                        session.forget()
                    }
                    try await peripheral.withLink { $0.forgetServices() }
                    group.cancelAll()
                }
                await here.flush()
                await there.flush()
            }
            try await Central.open(.radio(near), store: store()).peripheral(far.address).unpair()
        }
        #expect(places.all.count > 20)
        #expect(places.all.allSatisfy { $0 })
    }

    @Test func `nobody waits for a change while a file is being read or written`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "slow-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (mayGoOn, isReading) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let store = PeerStore(folder: folder) {
            isReading.signal()
            mayGoOn.wait()
        }
        let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        let found = Recorder<Bool>()
        store.perform(on: RealTimeline()) { found.add(store.record(of: peer).isEmpty) }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                isReading.wait()
                // The disk doesn't answer; whoever has something to keep goes on all the same.
                for _ in 0..<100 { store.update(peer) { $0.services = nil } }
                continuation.resume()
            }
        }
        #expect(found.all.isEmpty)
        for _ in 0..<200 { mayGoOn.signal() }
        await store.flush()
        await withCheckedContinuation { continuation in
            store.perform(on: RealTimeline()) { continuation.resume() }
        }
        #expect(found.all == [true])
    }
}
