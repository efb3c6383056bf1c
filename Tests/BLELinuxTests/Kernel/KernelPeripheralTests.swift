import BLEProtocol
import BLERadio
import BLEStreams
import Testing

@testable import BLELinux

/// The peripheral role on the real kernel, as a program has it.
@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(10)))
struct KernelPeripheralTests {
    private static let temperature = BluetoothUUID.Characteristics.temperature

    private static let thermometer = LocalPeripheral(name: "Thermometer") {
        LocalService(.environmentalSensing) {
            LocalCharacteristic(temperature, [.read, .notify], value: .stored([0, 0]))
        }
    }

    /// Serves until the radio fails; the program itself hears of nothing, as between two values of a thermometer.
    private static func serve(on adapter: String, whenServed: @escaping @Sendable () -> Void) async throws {
        try await thermometer.run(on: try LinuxRadio(adapter: adapter)) { server in
            try await server.notify([1, 0], of: temperature)
            whenServed()
            let (nothing, never) = AsyncStream<Never>.makeStream()
            for await _ in nothing {}
            withExtendedLifetime(never) {}
            try Task.checkCancellation()
        }
    }

    @Test func `one that waits ends with a word when its adapter is switched off, and can be served again`()
        async throws
    {
        let adapter = KernelLab.central
        for _ in 0..<2 {
            let (served, isServed) = AsyncStream<Void>.makeStream()
            async let failure: BLEError? = {
                do {
                    try await Self.serve(on: adapter) { isServed.finish() }
                    return nil
                } catch {
                    isServed.finish()
                    return error as? BLEError
                }
            }()
            for await _ in served {}
            try await KernelLab.power(false, adapter)
            let error = await failure
            #expect(error?.code == .adapterPoweredOff, "\(error as Any)")
            #expect(error?.remedy.isEmpty == false)
            try await KernelLab.power(true, adapter)
        }
    }
}
