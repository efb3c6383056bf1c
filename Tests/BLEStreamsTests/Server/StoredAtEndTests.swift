import BLEProtocol
import BLERadio
import BLESimulator
import Dispatch
import Foundation
import RadioDoubles
import Testing

@testable import BLEStreams

/// A program that serves a peripheral may end as soon as that is over.
@Suite(.timeLimit(.minutes(10))) struct StoredAtEndTests {
    /// A radio that has the disk wait until it has finished.
    private struct Finishing: RelayingRadio {
        let radio: SimulatedAdapter
        let mayWrite: DispatchSemaphore

        func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
            mayWrite.signal()
            return radio.settle(done)
        }
    }

    @Test func `the bond with a central that has just paired is on disk when the peripheral is no longer served`()
        async throws
    {
        try await StoreChild.with { child in
            let folder = child.folder
            try await VirtualTime.run { time in
                let air = SimulatedAir(time)
                let (near, far) = (air.adapter(), air.adapter())
                let mayWrite = DispatchSemaphore(value: 0)
                let radio = Finishing(radio: far, mayWrite: mayWrite)
                let store = PeerStore(folder: folder, patience: .seconds(10)) { _ in
                } onLock: { _ in
                    mayWrite.wait()
                    mayWrite.signal()
                }
                let peripheral = try await Central.open(.radio(near), store: .inMemory()).peripheral(far.address)
                let description = LocalPeripheral(name: "Lock", pairing: PairingAnswers()) {
                    LocalService(BluetoothUUID(0xB000)) {
                        LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([42]), access: .encrypted)
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try? await peripheral.withLink { try await $0.pair() } }
                    try await description.run(on: .radio(radio), store: store, warning: { _ in }) { server in
                        for try await event in server.centralEvents {
                            if case .paired = event { return }
                        }
                    }
                    let next = PeerStore(folder: folder) { _ in }
                    #expect(next.bonds(with: near.address).count == 1)
                    group.cancelAll()
                }
            }
        }
    }
}
