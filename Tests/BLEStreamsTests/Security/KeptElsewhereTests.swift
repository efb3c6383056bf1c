import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// A bond of which another program of the machine may keep its own record, since it gives no answer.
@Suite(.timeLimit(.minutes(10))) struct KeptElsewhereTests {
    /// Removes its keys, and can't reach the other program.
    private struct LonelyRadio: RelayingRadio {
        static let failure: BLEError = {
            var error = BLEError(.timedOut, operation: "unpair", cause: "it may still have the bond", remedy: "Ask it.")
            error.hasRemovedKey = true
            return error
        }()

        let radio: SimulatedAdapter

        func unpair(
            _ peer: BluetoothAddress,
            result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
        ) -> RadioActivity {
            radio.unpair(peer) { answer in
                let hadKey = (try? answer.get()) == true
                result(hadKey ? .failure(Self.failure) : answer)
            }
        }
    }

    /// Otherwise the next link would give the adapter the key again.
    @Test(arguments: [false, true])
    func `who unpairs is told that, and this program's own bond is gone`(isJoined: Bool) async throws {
        try await Bench.run { bench in
            let radio = LonelyRadio(radio: bench.centralAdapter)
            let choice: AdapterChoice = isJoined ? .joined([.radio(radio)]) : .radio(radio)
            let central = try await Central.open(choice, store: .inMemory())
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            try await peripheral.withLink { try await $0.pair() }
            #expect(peripheral.isBonded)
            let error = await bleError { try await peripheral.unpair() }
            #expect(error?.code == .timedOut && error?.remedy == LonelyRadio.failure.remedy, "\(error as Any)")
            #expect(!peripheral.isBonded)
            bench.peripheralAdapter.forgetBonds()
            try await peripheral.withLink { link in #expect(!link.security.isEncrypted) }
            let again = await bleError { try await peripheral.unpair() }
            #expect(again?.code == .notFound, "\(again as Any)")
        }
    }
}
