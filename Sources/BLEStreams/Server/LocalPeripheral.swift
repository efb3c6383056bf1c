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

    /// The services that are advertised; `nil`: all primary ones. Of no account where ``advertisement`` is declared.
    public var advertisedServices: [BluetoothUUID]?

    /// All that is advertised, and how; `nil`, the default: the advertised services and the name.
    ///
    /// ```swift
    /// var thermometer = LocalPeripheral(name: "Thermometer") {
    ///     LocalService(.environmentalSensing) { LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify]) }
    /// }
    /// thermometer.advertisement = AdvertiseRequest(
    ///     [.services([.environmentalSensing]), .serviceData(.environmentalSensing, [0xC4, 0x09]), .localName("Thermometer")],
    ///     interval: .milliseconds(200) ... .milliseconds(250)
    /// )
    /// ```
    ///
    /// The flags are added where centrals may connect and it has none. ``PeripheralServer/advertise(_:)`` changes it while
    /// the peripheral runs.
    public var advertisement: AdvertiseRequest?

    /// What it offers.
    public var services: [LocalService]

    /// Who answers what a central asks that pairs with it; `nil` refuses every pairing.
    ///
    /// Answers that ask nobody, the default, have this device claim that it can neither show nor take a number: whoever wants
    /// to pair may, and what is encrypted is safe from listeners, not from somebody who stood in between. What needs more
    /// says so itself, with ``AccessRequirement/authenticated``, and takes answers: a passkey to show, to enter, or numbers
    /// to compare. With them a central that asks for no protection still pairs without, as the specification has it; it is
    /// kept from what needs more, and doesn't replace a bond that somebody made sure of.
    ///
    /// Source: Core Specification, Vol 3, Part H, 2.3.5.1, and Part C, 10.3.
    public var pairing: PairingAnswers?

    /// How soon and how often it is served again when its adapter is switched off or unplugged, or its advertising or
    /// listening taken away; `nil`, the default: not at all, and that ends it with an error.
    ///
    /// ```swift
    /// var thermometer = LocalPeripheral(name: "Thermometer") {
    ///     LocalService(.environmentalSensing) { LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify]) }
    /// }
    /// thermometer.resuming = .exponential()
    /// ```
    ///
    /// An adapter that can't be used is waited for without counting, also before the beginning. Other failures in a row are
    /// counted until it has been served for ``RetryPolicy/stableAfter``. Meanwhile the closure goes on: values keep what
    /// is written to them, and what is notified reaches nobody. ``PeripheralServer/states`` tells of it. What no new attempt
    /// can mend (``BLEError/isFinal``) ends it all the same.
    public var resuming: RetryPolicy?

    /// Describes a peripheral, with its services in a block.
    public init(
        name: String,
        appearance: UInt16 = 0,
        advertising: [BluetoothUUID]? = nil,
        pairing: PairingAnswers? = PairingAnswers(),
        @AttributeListBuilder<LocalService> services: () -> [LocalService]
    ) {
        self.name = name
        self.appearance = appearance
        advertisedServices = advertising
        self.pairing = pairing
        self.services = services()
    }

    /// Is told what is worth a line in a log though no call has failed: requests that nobody answers, a central whose
    /// writes are dropped, a pairing that failed. Of what goes on and on it is told the 1st, the 10th, the 100th time.
    public typealias Warning = @Sendable (BLEError) -> Void

    /// Advertises and serves on an adapter for as long as the closure runs.
    ///
    /// When the adapter is switched off or unplugged, or its advertising or listening is taken away, the closure is
    /// cancelled, and the error is thrown once it has ended: call this again to go on, or have it go on by itself with
    /// ``resuming``. An adapter that this program has
    /// switched off itself is one, be it by a ``RecoveryPlan``; the error says so.
    ///
    /// Where bluetoothd runs on the adapter too, Linux hands a central to whichever of the two has begun to listen last.
    /// One that is started later is noticed when it changes something of the adapter, or else when it has been given a
    /// central, which `warning` is told of; then this begins to listen anew.
    ///
    /// - Parameters:
    ///   - adapter: the adapter, or a radio: `.radio(air.adapter())`.
    ///   - store: where the bonds with centrals are kept, and what those have subscribed to; `nil`: ``PeerStore/standard`` for an adapter of
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
}
