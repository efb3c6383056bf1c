import BLERadio
import BLESimulator
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// A peripheral that resumes, on an adapter that is off only for moments, also while the peripheral begins.
@Suite(.timeLimit(.minutes(10))) struct BriefOutageTests {
    /// An adapter to which something happens whenever it is asked to advertise.
    private final class DisturbedRadio: RelayingRadio {
        let radio: SimulatedAdapter
        private let count = Mutex(0)
        /// What happens, by the number of the request; an error is its answer.
        private let disturb: @Sendable (Int, SimulatedAdapter) -> BLEError?

        init(_ adapter: SimulatedAdapter, disturb: @escaping @Sendable (Int, SimulatedAdapter) -> BLEError?) {
            radio = adapter
            self.disturb = disturb
        }

        func advertise(
            _ request: AdvertiseRequest,
            events: @escaping @Sendable (AdvertiseEvent) -> Void
        ) -> RadioActivity {
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard let error = disturb(number, radio) else { return radio.advertise(request, events: events) }
            return radio.timeline.schedule(after: .zero) { events(.failed(error)) }
        }
    }

    /// Serves while the closure runs; what it has ended with.
    private func serve(
        on radio: any Radio,
        _ policy: RetryPolicy,
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Void
    ) async throws -> BLEError? {
        var thermometer = LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) {
                LocalCharacteristic(BluetoothUUID.Characteristics.temperature, [.read], value: .stored([1]))
            }
        }
        thermometer.resuming = policy
        do {
            try await thermometer.run(on: .radio(radio), warning: { _ in }, body)
            return nil
        } catch let error as BLEError {
            return error
        }
    }

    @Test(arguments: [[1], [2], [1, 3]])
    func `one that is off for a moment while the peripheral begins uses up no attempt`(
        _ disturbed: [Int]
    ) async throws {
        try await VirtualTime.run { time in
            let radio = DisturbedRadio(SimulatedAir(time).adapter()) { number, adapter in
                guard disturbed.contains(number) else { return nil }
                adapter.powerOff()
                adapter.powerOn()
                return .adapterIsOff
            }
            let error = try await serve(on: radio, .immediate(attempts: 0)) { server in
                try await time.sleep(for: .seconds(5))
                radio.radio.powerOff()
                radio.radio.powerOn()
                try await time.sleep(for: .seconds(5))
                #expect("\(server.state)" == "serving")
            }
            #expect(error == nil, "\(String(describing: error))")
        }
    }

    @Test func `a radio that always refuses as if its adapter were off, though it is on, uses up the attempts`()
        async throws
    {
        try await VirtualTime.run { time in
            let radio = DisturbedRadio(SimulatedAir(time).adapter()) { _, _ in .adapterIsOff }
            let error = try await serve(on: radio, .constant(.seconds(1), attempts: 2)) { _ in }
            #expect(error?.code == .adapterPoweredOff)
            #expect(time.now == .seconds(2) + ConnectMachine.adapterRest)
        }
    }

    @Test(arguments: UInt64(0)..<50)
    func `one that is off and on in any order is served on in the end`(_ seed: UInt64) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let adapter = SimulatedAir(time).adapter()
            let error = try await serve(on: adapter, .exponential(attempts: 1)) { server in
                var random = Chance(seed: seed)
                for _ in 0..<30 {
                    let isUnplugged = Bool.random(using: &random)
                    if isUnplugged { adapter.unplug() } else { adapter.powerOff() }
                    try await time.sleep(for: .milliseconds([0, 1, 100, 250, 1000].randomElement(using: &random) ?? 0))
                    if isUnplugged { adapter.plugIn() } else { adapter.powerOn() }
                    try await time.sleep(for: .milliseconds([0, 1, 100, 250, 3000].randomElement(using: &random) ?? 0))
                }
                try await time.sleep(for: .seconds(60))
                #expect("\(server.state)" == "serving")
                #expect(adapter.activity.advertisementCount == 1)
            }
            #expect(error == nil, "\(String(describing: error))")
        }
    }
}

extension BLEError {
    fileprivate static let adapterIsOff =
        BLEError(.adapterPoweredOff, operation: "advertise", object: "sim0", cause: "off")
}
