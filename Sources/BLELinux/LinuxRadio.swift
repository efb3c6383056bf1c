public import BLEProtocol
public import BLERadio
internal import Synchronization

/// A Bluetooth adapter of this machine, reached through the Linux kernel's own sockets.
///
/// Connecting takes no privilege; scanning, advertising and dropping a link at once take the capability
/// `CAP_NET_ADMIN`, and without it the error says how to grant it. bluetoothd is not needed and may run beside it.
/// The adapter is used as it is: one that is switched off is reported, and switched on only by ``setPowered(_:result:)``;
/// or when it is opened, where a program of this library was killed that had switched it off for a moment.
public final class LinuxRadio: Radio {
    public let timeline: any Timeline

    /// The thread that reads this adapter's sockets.
    public var executor: (any TaskExecutor)? { loop }

    /// The system's name for the adapter: `hci0`; another one when it was unplugged and came back under another number.
    public var adapterName: String { adapter.name }

    let adapter: LinuxAdapter
    let loop: EventLoop
    /// Absent where the system gives no management socket at all: then there is no more than connecting.
    let management: ManagementSocket?
    let watch: AdapterWatch
    let settling: SettlingPeers
    let connecting: ConnectingPeers
    let excludedRoles: ExcludedRoles
    let keys: KernelKeys
    /// Absent where the system gives no management socket.
    let pairingSettings: PairingSettings?
    let security: SecurityWatch
    let monitor: LinkMonitor
    let symptoms: SymptomWatch
    /// What links were made with.
    let made = Mutex<[BluetoothAddress: ConnectionParameters]>([:])
    /// What the program can do for the person who pairs, on the next links to peers.
    let capabilities = Mutex<[BluetoothAddress: PairingCapability]>([:])
    /// Where bluetoothd is met.
    let bus: SystemBus
    let leftovers: Leftovers
    /// Whether somebody answers the pairings of centrals.
    let receivesPairings = Mutex(false)
    /// Whether somebody scans.
    let isScanning = Mutex(false)

    /// Opens an adapter by its name; one that is not plugged in may be opened too, and watched until it is.
    ///
    /// - Parameter adapter: The system's name, `hci0`; `nil` for the first adapter that is switched on, or else the
    ///   first there is.
    /// - Throws: ``BLEError/Code/invalidArgument`` for what is no adapter's name, ``BLEError/Code/adapterNotFound``
    ///   where none was named and there is none, ``BLEError/Code/unsupportedSystem`` where the kernel has no Bluetooth.
    public convenience init(adapter name: String? = nil) throws(BLEError) {
        try self.init(adapter: name, on: .ofThisMachine, timeline: RealTimeline())
    }

    /// Opens an adapter that need not be there yet, to be watched until it is: the one with this name, or the first that
    /// turns up.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` for what is no adapter's name, ``BLEError/Code/unsupportedSystem`` where
    ///   the kernel has no Bluetooth. What keeps the program from using the adapter is its state.
    public convenience init(awaiting name: String?) throws(BLEError) {
        try self.init(on: LinuxAdapter(name, mayBeMissing: true, of: .ofThisMachine), timeline: RealTimeline())
    }

    /// Opens the adapter with this address, under whatever name; one that is not plugged in is watched until it is.
    ///
    /// - Throws: ``BLEError/Code/unsupportedSystem`` where the kernel has no Bluetooth,
    ///   ``BLEError/Code/permissionDenied`` where the system lets this program open no Bluetooth socket.
    public convenience init(address: BluetoothAddress) throws(BLEError) {
        try self.init(on: LinuxAdapter(at: address, of: .ofThisMachine), timeline: RealTimeline())
    }

    /// Opens an adapter of a kernel that may be another than this machine's; time is as the timeline has it.
    convenience init(adapter name: String?, on kernel: Kernel, timeline: any Timeline) throws(BLEError) {
        try self.init(on: LinuxAdapter(name, of: kernel), timeline: timeline)
    }

    init(on adapter: LinuxAdapter, timeline: any Timeline) throws(BLEError) {
        let isOfThisMachine = adapter.kernel.substitute == nil
        bus = isOfThisMachine ? .standard : SystemBus(address: "unix:path=/nowhere")
        leftovers = isOfThisMachine ? .ofThisUser : Leftovers(folder: nil, boot: "", of: adapter.kernel)
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop(name: "ble-\(adapter.name)", on: adapter.kernel)
        } catch {
            throw .system(error, call: "starting the event loop", operation: "open", object: adapter.name)
        }
        self.adapter = adapter
        self.timeline = timeline
        self.loop = loop
        management = try? ManagementSocket(adapter: adapter, loop: loop, timeline: timeline)
        watch = AdapterWatch(adapter, management: management, loop: loop, timeline: timeline)
        settling = SettlingPeers(management: management, loop: loop, timeline: timeline)
        connecting = ConnectingPeers(management: management, timeline: timeline)
        excludedRoles = ExcludedRoles(adapter: adapter, management: management)
        keys = KernelKeys(management: management)
        pairingSettings = management.map { [leftovers] management in
            PairingSettings(management: management, leftovers: leftovers) { adapter.facts }
        }
        security = SecurityWatch(management: management)
        monitor = LinkMonitor(adapter, loop: loop)
        symptoms = SymptomWatch(management: management, loop: loop, timeline: timeline)
        guard let management else { return }
        loop.enqueue { [leftovers] in
            if let facts = adapter.facts { leftovers.restorePower(of: facts, through: management) }
        }
    }
}
