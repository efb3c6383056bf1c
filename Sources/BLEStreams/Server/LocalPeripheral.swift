public import BLEProtocol
public import BLERadio

/// A peripheral that this program implements: a name and services, as a value.
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
/// The Generic Access and Generic Attribute services are added automatically.
public struct LocalPeripheral: Sendable {
    /// The name in the advertisement and in the Generic Access service.
    public var name: String

    /// Its kind of device, as a number assigned by the Bluetooth SIG; 0: unknown.
    public var appearance: UInt16

    /// The services to advertise; `nil`: all primary ones. Ignored if ``advertisement`` is set.
    public var advertisedServices: [BluetoothUUID]?

    /// The whole advertisement, and how to send it; `nil`, the default: the advertised services and the name.
    ///
    /// ```swift
    /// var thermometer = LocalPeripheral(name: "Thermometer") {
    ///     LocalService(.environmentalSensing) { LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify]) }
    /// }
    /// thermometer.advertisement = AdvertiseRequest(
    ///     [
    ///         .services([.environmentalSensing]), .serviceData(.environmentalSensing, [0xC4, 0x09]),
    ///         .localName("Thermometer"),
    ///     ],
    ///     interval: .milliseconds(200) ... .milliseconds(250)
    /// )
    /// ```
    ///
    /// The flags are added if centrals may connect and it has none. ``PeripheralServer/advertise(_:)`` changes it while
    /// the peripheral runs.
    public var advertisement: AdvertiseRequest?

    /// Its services.
    public var services: [LocalService]

    /// Answers the pairings of centrals; `nil` refuses every pairing.
    ///
    /// With the default, Just Works, this device claims that it can neither show nor take a number: any central may
    /// pair, and encrypted data is safe from eavesdroppers but not from a man in the middle of the pairing. Attributes
    /// that need more require ``AccessRequirement/authenticated``, and then answers are needed: a passkey to show or to
    /// enter, or numbers to compare. With such answers a central that requests no protection can still pair without it,
    /// as the specification has it; it has no access to what requires more. No bond replaces one that protects more,
    /// nor one that may be in a file that can't be read, unless none protects more; its keys are removed again.
    ///
    /// Several centrals may pair at the same time; then the closures of the answers are called at the same time, too.
    /// If they ask a person, let each question wait for the answer to the one before it.
    ///
    /// Source: Core Specification, Vol 3, Part H, 2.3.5.1, and Part C, 10.3.
    public var pairing: PairingAnswers?

    /// How soon and how often to serve it again after its adapter was switched off or unplugged, or after it lost its
    /// advertising or listening; `nil`, the default: never, the peripheral ends with an error.
    ///
    /// ```swift
    /// var thermometer = LocalPeripheral(name: "Thermometer") {
    ///     LocalService(.environmentalSensing) { LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify]) }
    /// }
    /// thermometer.resuming = .exponential()
    /// ```
    ///
    /// An adapter that is off or absent is waited for, even before the first start, and that doesn't count as an
    /// attempt. Other consecutive failures count until the peripheral has been served for its `stableAfter`. Meanwhile
    /// the closure continues: stored values can be changed, and notifications reach no central.
    /// ``PeripheralServer/states`` reports interruptions. An error that a new attempt can't cure
    /// (``BLEError/isFinal``) ends the peripheral in any case.
    public var resuming: RetryPolicy?

    /// Declares a peripheral, with its services in a builder block.
    public init(
        name: String,
        appearance: UInt16 = 0,
        advertising: [BluetoothUUID]? = nil,
        pairing: PairingAnswers? = PairingAnswers(),
        @ListBuilder<LocalService> services: () -> [LocalService]
    ) {
        self.name = name
        self.appearance = appearance
        advertisedServices = advertising
        self.pairing = pairing
        self.services = services()
    }

    /// Advertises and serves on an adapter while the closure runs.
    ///
    /// When the adapter is switched off or unplugged, or stops advertising or listening for it, the closure is
    /// cancelled, and the error is thrown once the closure has ended: call this function again to continue, or set
    /// ``resuming`` to continue automatically. The same applies if this program itself switches the adapter off, even
    /// by a ``RecoveryPlan``; the error says so.
    ///
    /// When this returns, the bonds with centrals and what they have configured are on disk, or have been given up with
    /// a warning of the store.
    ///
    /// If bluetoothd runs on the adapter too, Linux passes a central to whichever of the two began to listen last. A
    /// bluetoothd started later is noticed when it changes an adapter setting, at the latest when it has been given a
    /// central, which `warning` reports; this peripheral then begins to listen again.
    ///
    /// - Parameters:
    ///   - adapter: the adapter, or a radio: `.radio(air.adapter())`.
    ///   - store: where the bonds with centrals and their subscriptions are kept; `nil`: ``PeerStore/standard`` for an
    ///     adapter of this machine, memory for ``AdapterChoice/radio(_:)``.
    ///   - warning: called for problems worth a line in a log that make no call fail: unanswered requests, a central
    ///     whose writes are dropped, a failed pairing. A recurring problem is reported the 1st, the 10th and the 100th
    ///     time, and so on, for each central separately; once there were 256 different problems, further centrals are
    ///     counted together. By default they are printed to standard error.
    ///   - body: the peripheral's work with the server, in a task of its own; when it returns or throws, advertising
    ///     ends and all links are dropped.
    /// - Returns: what the closure returns.
    /// - Throws: ``BLEError/Code/invalidArgument`` if the services can't be laid out, or if out-of-band data for
    ///   pairing lacks its central's address; ``BLEError/Code/overflow`` if the adapter has no room for the
    ///   advertisement, ``BLEError/Code/notSupported`` if a characteristic requires something this server doesn't
    ///   support, ``BLEError/Code/busy`` if another peripheral is served on the adapter; an error of the adapter, also
    ///   when it fails later; what the closure throws; `CancellationError`.
    public func run<Output: Sendable>(
        on adapter: AdapterChoice = .default,
        store: PeerStore? = nil,
        warning: @escaping PeerStore.Warning = PeerStore.printWarning,
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Output
    ) async throws -> Output {
        try checkPairing()
        let store = store ?? (adapter.isOfThisMachine ? .standard : .inMemory())
        // One that resumes waits for its adapter, which may be plugged in later than the program begins.
        let radio = try resuming == nil ? adapter.makeRadio() : adapter.awaitRadio()
        let server = try PeripheralServer(self, radio: radio, store: store, warning: warning)
        return try await server.run(body)
    }

    /// Advertises and serves on a radio while the closure runs. See ``run(on:store:warning:_:)``.
    public func run<Output: Sendable>(
        on radio: any Radio,
        warning: @escaping PeerStore.Warning = PeerStore.printWarning,
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Output
    ) async throws -> Output {
        try checkPairing()
        let server = try PeripheralServer(self, radio: radio, store: .inMemory(), warning: warning)
        return try await server.run(body)
    }

    /// Advertises and serves on a radio until the task is cancelled or the adapter fails.
    ///
    /// Centrals read and write stored values without further code. Problems that make no call fail are printed to
    /// standard error.
    ///
    /// - Throws: as ``run(on:store:warning:_:)``.
    public func run(on radio: any Radio) async throws {
        try await run(on: radio) { server in try await server.untilFailure() }
    }
}
