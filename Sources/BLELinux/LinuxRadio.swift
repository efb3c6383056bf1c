public import BLEProtocol
public import BLERadio
internal import Synchronization

/// A Bluetooth adapter of this machine, reached through the Linux kernel's own sockets.
///
/// Connecting requires no privilege; scanning, advertising and dropping a link immediately require the capability
/// `CAP_NET_ADMIN`, and without it the error says how to grant it. bluetoothd is not needed and may run at the same
/// time. The adapter is used as it is: if it is switched off, that is reported, and it is switched on only by
/// ``setPowered(_:result:)``, or if a program of this library was killed after switching it off briefly: on opening it,
/// or when it is plugged in after that.
public final class LinuxRadio: Radio {
    public let timeline: any Timeline

    /// The thread that reads this adapter's sockets.
    public var executor: (any TaskExecutor)? { loop }

    /// The system's name for the adapter: `hci0`; it changes when the adapter is unplugged and comes back under another
    /// number.
    public var adapterName: String { adapter.name }

    let adapter: LinuxAdapter
    let loop: EventLoop
    /// Absent if the system gives no management socket at all: then the radio can only connect.
    let management: ManagementSocket?
    let watch: AdapterWatch
    let settling: SettlingPeers
    let connecting: ConnectingPeers
    let excludedRoles: ExcludedRoles
    let keys: KernelKeys
    /// Absent if the system gives no management socket.
    let pairingSettings: PairingSettings?
    let security: SecurityWatch
    let unasked: UnaskedPairings
    let monitor: LinkMonitor
    let forgotten: ForgottenLinks
    let stuck: StuckAttempts
    let symptoms: SymptomWatch
    let restoration: PowerRestoration
    /// The parameters that links were made with.
    let made = Mutex<[BluetoothAddress: ConnectionParameters]>([:])
    /// The pairing capabilities to claim on the next links to peers.
    let capabilities = Mutex<[BluetoothAddress: ClaimedCapability]>([:])
    /// The bus on which bluetoothd is reached.
    let bus: SystemBus
    let leftovers: Leftovers
    let powerWork = PowerWork()
    /// Whether the program answers the pairings of centrals.
    let receivesPairings = Mutex(false)
    /// Whether the program scans.
    let isScanning = Mutex(false)

    /// Opens an adapter by its name; an adapter that is not plugged in can be opened too, and is watched until it is
    /// plugged in.
    ///
    /// - Parameter adapter: the system's name, `hci0`; `nil` for the first adapter that is switched on, otherwise the
    ///   first one present.
    /// - Throws: ``BLEError/Code/invalidArgument`` for an invalid name, ``BLEError/Code/adapterNotFound`` if no name is
    ///   given and there is no adapter, ``BLEError/Code/adapterBlocked`` if a switch of the machine is the reason,
    ///   ``BLEError/Code/unsupportedSystem`` if the kernel has no Bluetooth, ``BLEError/Code/systemFailure`` if
    ///   something has run out, such as descriptors.
    public convenience init(adapter name: String? = nil) throws(BLEError) {
        try self.init(adapter: name, on: .ofThisMachine, timeline: RealTimeline())
    }

    /// Opens an adapter that need not be present yet, and watches for it: the one with this name, or the first to
    /// appear.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` for an invalid name, ``BLEError/Code/unsupportedSystem`` if the
    ///   kernel has no Bluetooth, ``BLEError/Code/systemFailure`` if something has run out, such as descriptors. If the
    ///   program can't use the adapter, the adapter's state says why.
    public convenience init(awaiting name: String?) throws(BLEError) {
        try self.init(on: LinuxAdapter(name, mayBeMissing: true, of: .ofThisMachine), timeline: RealTimeline())
    }

    /// Opens the adapter with this address, under any name; if it is not plugged in, it is watched until it is plugged
    /// in.
    ///
    /// - Throws: ``BLEError/Code/unsupportedSystem`` if the kernel has no Bluetooth, ``BLEError/Code/permissionDenied``
    ///   if the system doesn't let this program open Bluetooth sockets, ``BLEError/Code/systemFailure`` if something
    ///   has run out, such as descriptors.
    public convenience init(address: BluetoothAddress) throws(BLEError) {
        try self.init(on: LinuxAdapter(at: address, of: .ofThisMachine), timeline: RealTimeline())
    }

    /// Opens an adapter of a given kernel, which a test may replace, on a given timeline.
    convenience init(adapter name: String?, on kernel: Kernel, timeline: any Timeline) throws(BLEError) {
        try self.init(on: LinuxAdapter(name, of: kernel), timeline: timeline)
    }

    init(on adapter: LinuxAdapter, timeline: any Timeline) throws(BLEError) {
        let isOfThisMachine = adapter.kernel.substitute == nil
        bus = isOfThisMachine ? .standard : SystemBus(address: "unix:path=/nowhere")
        leftovers = .ofThisUser(of: adapter.kernel)
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(name: "ble-\(adapter.name)", on: adapter.kernel)
        } catch {
            throw .system(error, call: "starting the event loop", operation: "open", object: adapter.name)
        }
        self.adapter = adapter
        self.timeline = timeline
        self.loop = loop
        management = try LinuxRadio.openManagement(of: adapter, loop: loop, timeline: timeline)
        watch = AdapterWatch(adapter, management: management, loop: loop, timeline: timeline)
        settling = SettlingPeers(management: management, loop: loop, timeline: timeline)
        connecting = ConnectingPeers(management: management, timeline: timeline)
        excludedRoles = ExcludedRoles(adapter: adapter, management: management)
        keys = KernelKeys(management: management) { adapter.removals }
        pairingSettings = management.map { [leftovers] management in
            PairingSettings(management: management, leftovers: leftovers, timeline: timeline) { adapter.facts }
        }
        security = SecurityWatch(management: management)
        unasked = UnaskedPairings(
            management: management,
            bus: bus,
            loop: loop,
            timeline: timeline,
            hasMade: { adapter.hasMade($0) },
            facts: { adapter.facts }
        )
        monitor = LinkMonitor(adapter, loop: loop, timeline: timeline)
        forgotten = ForgottenLinks(adapter, monitor: monitor, management: management, loop: loop, timeline: timeline)
        symptoms = SymptomWatch(management: management, timeline: timeline)
        stuck = StuckAttempts(
            adapter,
            watch: watch,
            settling: settling,
            loop: loop,
            timeline: timeline,
            tell: { [symptoms] in symptoms.tell($0) }
        )
        restoration = PowerRestoration(of: adapter, leftovers, through: management, loop: loop)
    }

    /// The management socket; `nil` if the system gives none. If only something has run out, the radio is not opened:
    /// all that it couldn't do would be said to lack a permission, for as long as it lives.
    private static func openManagement(
        of adapter: LinuxAdapter,
        loop: EventLoop,
        timeline: any Timeline
    ) throws(BLEError) -> ManagementSocket? {
        do throws(SystemError) {
            return try ManagementSocket(adapter: adapter, loop: loop, timeline: timeline)
        } catch {
            guard error.isShortage else { return nil }
            throw .system(error, call: "opening the management socket", operation: "open", object: adapter.name)
        }
    }
}
