public import BLEProtocol
public import BLERadio

/// A peripheral that this program is: a name and services, as a value.
///
/// ```swift
/// let thermometer = LocalPeripheral(name: "Thermometer") {
///     LocalService(.environmentalSensing) {
///         LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify], value: .stored([0xC4, 0x09]))
///     }
/// }
/// try await thermometer.run(on: .default) { server in
///     for try await change in server.subscriptions() { print(change) }
/// }
/// ```
///
/// The Generic Access and Generic Attribute services are added by themselves.
public struct LocalPeripheral: Sendable {
    /// The name that is advertised, and that the Generic Access service tells.
    public var name: String

    /// What kind of device it is, as a number that the Bluetooth SIG assigned; 0: unknown.
    public var appearance: UInt16

    /// The services that are advertised; `nil`: all primary ones.
    public var advertisedServices: [BluetoothUUID]?

    /// What it offers.
    public var services: [LocalService]

    /// Describes a peripheral, with its services in a block.
    public init(
        name: String,
        appearance: UInt16 = 0,
        advertising: [BluetoothUUID]? = nil,
        @AttributeListBuilder<LocalService> services: () -> [LocalService]
    ) {
        self.name = name
        self.appearance = appearance
        advertisedServices = advertising
        self.services = services()
    }

    /// Is told what is worth a line in a log though no call has failed: requests that nobody answers, a central whose
    /// writes are dropped, a pairing that failed. Of what goes on and on it is told the 1st, the 10th, the 100th time.
    public typealias Warning = @Sendable (BLEError) -> Void

    /// Advertises and serves on an adapter for as long as the closure runs.
    ///
    /// When the adapter is switched off or unplugged, or its advertising or listening is taken away, the closure is
    /// cancelled, and the error is thrown once it has ended: call this again to go on.
    ///
    /// Where bluetoothd runs on the adapter too, Linux hands a central to whichever of the two has begun to listen last: run
    /// this after bluetoothd has started, and again when that was restarted.
    ///
    /// - Parameters:
    ///   - adapter: the adapter, or a radio: `.radio(air.adapter())`.
    ///   - store: where it is kept what bonded centrals have subscribed to; `nil`: ``PeerStore/standard`` for an adapter of
    ///     this machine, memory for ``AdapterChoice/radio(_:)``.
    ///   - warning: is told what goes wrong beside the calls; it is printed to standard error unless given.
    ///   - body: what the peripheral does meanwhile, with the server, in a task of its own; when it returns or throws,
    ///     advertising ends, and all links are dropped.
    /// - Returns: what the closure returns.
    /// - Throws: ``BLEError/Code/invalidArgument`` when the services can't be laid out, ``BLEError/Code/overflow`` when the
    ///   adapter has no room for the advertisement, ``BLEError/Code/notSupported`` when a characteristic asks for what this
    ///   server can't do, ``BLEError/Code/busy`` when another peripheral is served on the adapter; an error of the adapter,
    ///   also when it fails later; what the closure throws; `CancellationError`.
    public func run<Output: Sendable>(
        on adapter: AdapterChoice = .default,
        store: PeerStore? = nil,
        warning: @escaping Warning = PeerStore.printWarning,
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Output
    ) async throws -> Output {
        let store = store ?? (adapter.isOfThisMachine ? .standard : .inMemory())
        let server = try PeripheralServer(self, radio: try adapter.makeRadio(), store: store, warning: warning)
        return try await server.run(body)
    }

    /// Advertises and serves on a radio for as long as the closure runs. See ``run(on:store:warning:_:)``.
    public func run<Output: Sendable>(
        on radio: any Radio,
        warning: @escaping Warning = PeerStore.printWarning,
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Output
    ) async throws -> Output {
        let server = try PeripheralServer(self, radio: radio, store: .inMemory(), warning: warning)
        return try await server.run(body)
    }

    /// Advertises and serves on a radio until the task is cancelled or the adapter fails.
    ///
    /// Stored values are read and written by centrals without anybody's help. What goes wrong beside that is printed to
    /// standard error.
    ///
    /// - Throws: as ``run(on:store:warning:_:)``.
    public func run(on radio: any Radio) async throws {
        try await run(on: radio) { server in try await server.untilFailure() }
    }

    /// The two payloads: services in the advertisement, the name beside them or, for want of room, in the response. What
    /// has no room in both together makes one, for an adapter that has extended advertising.
    func advertisement() throws -> AdvertiseRequest {
        let uuids = advertisedServices ?? services.filter(\.isPrimary).map(\.uuid)
        var fields: [AdvertisingField] = [.flags([.generalDiscoverable, .classicNotSupported])]
        if !uuids.isEmpty { fields.append(.services(uuids)) }
        if let together = try? AdvertisingData(fields + [.localName(name)]) { return AdvertiseRequest(data: together) }
        if let data = try? AdvertisingData(fields), let response = try? AdvertisingData([.localName(name)]) {
            return AdvertiseRequest(data: data, scanResponse: response)
        }
        let limit = AdvertisingData.extendedLimit
        return try AdvertiseRequest(data: AdvertisingData(fields + [.localName(name)], limit: limit))
    }
}
