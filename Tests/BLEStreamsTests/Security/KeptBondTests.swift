import BLEProtocol
import BLERadio
import BLESimulator
import Foundation
import Testing

@testable import BLEStreams

/// A bond that is on disk, while something else of its peer can't be written.
@Suite(.timeLimit(.minutes(10))) struct KeptBondTests {
    @Test func `to pair where the bond is on disk doesn't fail with what else of the peer could not be written`()
        async throws
    {
        try await StoreChild.with { child in
            let folder = child.folder
            try await SecurityOnDemandTests.withVault { bench in
                let store = PeerStore(folder: folder, patience: .milliseconds(1)) { _ in
                } onLock: { _ in
                }
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                try await peripheral.withLink { link in
                    try await link.pair()
                    // Files are read all the same.
                    let lock = open("\(folder)/.lock", O_RDWR | O_CLOEXEC)
                    try #require(flock(lock, LOCK_EX) == 0)
                    defer { close(lock) }
                    // As the plan of a session.
                    store.update(peripheral.address, isLasting: true) { _ in }
                    await store.flush()
                    try #require(store.failure(of: peripheral.address) != nil)
                    try await link.pair()
                    #expect(link.security.isEncrypted && store.bondFailure(of: peripheral.address) == nil)
                }
            }
        }
    }
}
