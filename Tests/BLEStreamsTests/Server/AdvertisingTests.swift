import BLEDevices
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// What a peripheral advertises, and that it can be changed while it runs.
@Suite(.timeLimit(.minutes(10))) struct AdvertisingTests {
    private static func thermometer() -> LocalPeripheral {
        LocalPeripheral(name: "Thermometer") {
            LocalService(.environmentalSensing) {
                LocalCharacteristic(BluetoothUUID.Characteristics.temperature, [.read, .notify], value: .stored([1]))
            }
        }
    }

    private static func data(_ octet: UInt8, isConnectable: Bool = true) -> AdvertiseRequest {
        AdvertiseRequest([.serviceData(.environmentalSensing, [octet])], isConnectable: isConnectable)
    }

    /// No adapter takes these: one is too long, one has two names.
    private static let refused = [
        AdvertiseRequest([.localName(String(repeating: "n", count: 60))]),
        AdvertiseRequest([.localName("one"), .localName("other")]),
    ]

    /// What is heard next of the one who advertises.
    private static func heard(by central: Central) async throws -> Discovery {
        for try await discovery in central.scan(duplicates: true) { return discovery }
        throw BLEError(.ended, operation: "scan", cause: "nothing was heard")
    }

    @Test func `undeclared it is the services and the name, as far as there is room`() throws {
        let fields = Self.thermometer().declaration
        let layout = try fields.layout()
        #expect(layout.data.flags == [.generalDiscoverable, .classicNotSupported])
        #expect(layout.data.lists(.environmentalSensing) && layout.data.localName == "Thermometer")
        #expect(fields.isConnectable && fields.interval == nil)
    }

    @Test func `what is declared is heard, and what has no room in front comes with the scan response`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            var peripheral = Self.thermometer()
            peripheral.advertisement = AdvertiseRequest(
                [
                    .services([.environmentalSensing]), .txPower(-4), .appearance(0x0300),
                    .manufacturerData(0xFFFF, [1, 2, 3]), .localName("Thermometer in the cellar"),
                ],
                interval: .milliseconds(20) ... .milliseconds(30)
            )
            let (radio, central) = (air.adapter(), try await Central.open(.radio(air.adapter())))
            try await peripheral.run(on: radio) { _ in
                let advertisement = try await Self.heard(by: central).advertisement
                #expect(advertisement.flags == [.generalDiscoverable, .classicNotSupported])
                #expect(advertisement.lists(.environmentalSensing) && advertisement.txPower == -4)
                #expect(advertisement.appearance == 0x0300 && advertisement.localName == "Thermometer in the cellar")
                #expect(advertisement.manufacturerData(for: 0xFFFF).map(Array.init) == [1, 2, 3])
            }
            #expect(radio.activity.isIdle)
        }
    }

    @Test func `it is changed while it runs, and links stay`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let radio = air.adapter(settings: AdapterSettings(maximumCentrals: 2))
            let central = try await Central.open(.radio(air.adapter()))
            let other = try await Central.open(.radio(air.adapter()))
            try await Self.thermometer().run(on: radio) { server in
                try await central.peripheral(radio.address).withLink { link in
                    for octet in UInt8(1)...3 {
                        try await server.advertise(Self.data(octet))
                        let advertisement = try await Self.heard(by: other).advertisement
                        #expect(advertisement.serviceData(for: .environmentalSensing).map(Array.init) == [octet])
                        #expect(advertisement.flags != nil && advertisement.localName == nil)
                    }
                    #expect(server.centrals.count == 1)
                    #expect(try await link.read(BluetoothUUID.Characteristics.temperature).bytes == [1])
                }
            }
        }
    }

    @Test func `what is refused changes nothing, and says how long each field is`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (radio, central) = (air.adapter(), try await Central.open(.radio(air.adapter())))
            try await Self.thermometer().run(on: radio) { server in
                try await server.advertise(Self.data(1))
                let long = AdvertiseRequest([.localName(String(repeating: "n", count: 60))])
                let error = await #expect(throws: BLEError.self) { try await server.advertise(long) }
                #expect(error?.code == .overflow && error?.cause.contains("flags 3, local name") == true)
                let advertisement = try await Self.heard(by: central).advertisement
                #expect(advertisement.serviceData(for: .environmentalSensing).map(Array.init) == [1])
            }
        }
    }

    @Test func `a beacon only advertises, and can't become what centrals connect to`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (radio, central) = (air.adapter(), try await Central.open(.radio(air.adapter())))
            let beacon = IBeacon(uuid: BluetoothUUID(0x180A), major: 1, minor: 2)
            try await LocalPeripheral.beacon(beacon.fields).run(on: radio) { server in
                let discovery = try await Self.heard(by: central)
                #expect(IBeacon(discovery.advertisement) == beacon && !discovery.isConnectable)
                let error = await #expect(throws: BLEError.self) { try await server.advertise(Self.data(1)) }
                #expect(error?.code == .invalidArgument)
                try await server.advertise(Self.data(1, isConnectable: false))
                #expect(IBeacon(try await Self.heard(by: central).advertisement) == nil)
            }
            #expect(radio.activity.isIdle)
        }
    }

    /// A thermometer that is served, and is again after each interruption.
    private struct Resumed {
        let server: PeripheralServer
        let radio: SimulatedAdapter
        let central: Central
        let warnings: Recorder<BLEError>

        static func run(_ body: @escaping @Sendable (Resumed) async throws -> Void) async throws {
            try await VirtualTime.run { time in
                let air = SimulatedAir(time)
                let (radio, central) = (air.adapter(), try await Central.open(.radio(air.adapter())))
                var peripheral = thermometer()
                peripheral.resuming = .exponential(jitter: 0)
                let warnings = Recorder<BLEError>()
                try await peripheral.run(on: radio, warning: { warnings.add($0) }) { server in
                    try await body(Resumed(server: server, radio: radio, central: central, warnings: warnings))
                }
            }
        }

        /// Declares these in one interruption, and waits until it is served again.
        func declareInterrupted(_ requests: AdvertiseRequest...) async throws {
            radio.powerOff()
            _ = try await server.states.first { if case .interrupted = $0 { true } else { false } }
            for request in requests { try await server.advertise(request) }
            radio.powerOn()
            _ = try await server.states.first { if case .serving = $0 { true } else { false } }
        }

        /// The value of ``AdvertisingTests/data(_:isConnectable:)`` that is on air.
        func onAir() async throws -> [UInt8]? {
            try await heard(by: central).advertisement.serviceData(for: .environmentalSensing).map(Array.init)
        }

        /// Why declarations were refused, in order.
        var refusals: [BLEError.Code] { warnings.all.map(\.code).filter { $0 != .adapterPoweredOff } }
    }

    @Test func `declared while it is interrupted, it holds from when it is served again`() async throws {
        try await Resumed.run { resumed in
            try await resumed.declareInterrupted(Self.data(7))
            #expect(try await resumed.onAir() == [7])
        }
    }

    @Test(arguments: [false, true])
    func `declared while it is interrupted, and refused then, it leaves the air to the one before`(
        isInvalid: Bool
    ) async throws {
        try await Resumed.run { resumed in
            try await resumed.server.advertise(Self.data(7))
            try await resumed.declareInterrupted(Self.refused[isInvalid ? 1 : 0])
            #expect(try await resumed.onAir() == [7])
            #expect(resumed.refusals == [isInvalid ? .invalidArgument : .overflow])
        }
    }

    @Test func `refused ones leave the air to the last good one, also to one declared in the same interruption`()
        async throws
    {
        try await Resumed.run { resumed in
            try await resumed.server.advertise(Self.data(7))
            try await resumed.declareInterrupted(Self.data(8), Self.data(9), Self.refused[0], Self.refused[1])
            #expect(try await resumed.onAir() == [9])
            #expect(resumed.refusals == [.invalidArgument, .overflow])
            // Nothing good is declared in this one: what was on air last is the one from the first.
            try await resumed.declareInterrupted(Self.refused[0], Self.refused[1])
            #expect(try await resumed.onAir() == [9])
        }
    }

    @Test func `one that is refused for another reason than the one before is told, too`() async throws {
        try await Resumed.run { resumed in
            for request in Self.refused {
                try await resumed.server.advertise(Self.data(7))
                try await resumed.declareInterrupted(request)
            }
            #expect(try await resumed.onAir() == [7])
            #expect(resumed.refusals == [.overflow, .invalidArgument])
        }
    }

    @Test(arguments: [BLEError.Code.overflow, .invalidArgument])
    func `when it has to end, the peripheral ends with it, also if it was changed since it began`(
        _ code: BLEError.Code
    ) async throws {
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter())
            let error = await bleError {
                try await Self.thermometer().run(on: puppet) { server in
                    try await server.advertise(Self.data(1))
                    puppet.tellAdvertiser(.failed(BLEError(code, operation: "advertise", cause: "it no longer fits")))
                    try await time.sleep(for: .seconds(1))
                }
            }
            #expect(error?.code == code)
        }
    }

    @Test func `when nothing is served any more that is told`() async throws {
        try await VirtualTime.run { time in
            let server = try await Self.thermometer().run(on: SimulatedAir(time).adapter()) { $0 }
            let error = await #expect(throws: BLEError.self) { try await server.advertise(Self.data(1)) }
            #expect(error?.code == .ended)
        }
    }
}
