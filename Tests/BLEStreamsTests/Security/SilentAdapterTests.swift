import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// Who is told to be the cause when a limit passes.
@Suite(.timeLimit(.minutes(10))) struct SilentAdapterTests {
    /// An adapter that never says whether it has removed a key.
    private struct SilentRadio: IdleRadio {
        let timeline: any Timeline

        func unpair(
            _ peer: BluetoothAddress,
            result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
        ) -> RadioActivity { RadioActivity {} }
    }

    @Test func `an adapter that does not answer is not said to be a peer out of range`() async throws {
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SilentRadio(timeline: time)))
            let peripheral = central.peripheral(BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random))
            let error = await bleError { try await peripheral.unpair(timeout: .seconds(2)) }
            #expect(error?.code == .timedOut && error?.cause.contains("the adapter did not answer") == true)
            #expect(error?.remedy.contains("in range") == false, "\(error as Any)")
            #expect(error?.remedy.contains("`Central.powerCycle()`") == true)
        }
    }

    @Test func `a pairing that takes too long asks for answers, not for another place of the peer`() {
        let error = BLEError.pairingTimedOut("pair", object: "with C4:F2:17:1A:1D:BB", after: .seconds(60))
        #expect(error.code == .timedOut && error.elapsed == .seconds(60))
        #expect(error.remedy.contains("Answer the questions") && !error.remedy.contains("in range"))
    }
}
