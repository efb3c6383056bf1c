import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import CLibrary
import RadioDoubles
import Testing

/// Joined adapters of which the nearest is on, and connects to nobody.
@Suite(.timeLimit(.minutes(10))) struct UnfitAdapterTests {
    /// Fails to connect.
    private struct UnfitRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let error: BLEError

        func connect(
            to peer: BluetoothAddress,
            parameters: ConnectionParameters?,
            result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
        ) -> RadioActivity {
            radio.timeline.schedule(after: .zero) { result(.failure(error)) }
        }
    }

    private static func error(_ code: BLEError.Code, _ systemError: Int32? = nil) -> BLEError {
        var error = BLEError(code, operation: "connect", cause: "the test says so", remedy: "None.")
        error.systemError = systemError
        return error
    }

    /// A central with the nearest adapter unfit, and what comes of a link to the sensor.
    private static func connect(
        _ error: BLEError,
        _ check: @escaping @Sendable (JoinedSite, BLEError?) -> Void
    ) async throws {
        try await JoinedSite.run { site in
            let unfit = UnfitRadio(radio: site.adapters[0], error: error)
            let choice = AdapterChoice.joined([.radio(unfit), .radio(site.adapters[1])])
            let peripheral = try await Central.open(choice).peripheral(site.sensors[0].address)
            do {
                try await peripheral.withLink { _ in #expect(site.loads == [0, 1]) }
                check(site, nil)
            } catch let error as BLEError {
                check(site, error)
            }
        }
    }

    /// Its address is that of another one, or Low Energy is off there; the program may not use it; another program has
    /// it for itself.
    @Test(arguments: [error(.notSupported), error(.permissionDenied), error(.busy, EHOSTUNREACH)])
    func `the link is made through another one`(_ error: BLEError) async throws {
        try await Self.connect(error) { _, failure in #expect(failure == nil) }
    }

    @Test func `what is about the peripheral is told`() async throws {
        try await Self.connect(Self.error(.busy, EBUSY)) { _, failure in #expect(failure?.code == .busy) }
    }

    @Test func `where none of them connects to anybody, the error of the first is told`() async throws {
        try await JoinedSite.run { site in
            let radios = [BLEError.Code.notSupported, .permissionDenied].enumerated().map { place, code in
                AdapterChoice.radio(UnfitRadio(radio: site.adapters[place], error: Self.error(code)))
            }
            let peripheral = try await Central.open(.joined(radios)).peripheral(site.sensors[0].address)
            let error = await bleError { try await peripheral.withLink { _ in } }
            #expect(error?.code == .notSupported && error?.isFinal == true)
        }
    }
}
