public import BLEProtocol
public import BLERadio
internal import Synchronization

/// The adapters of this machine as radios: those that are there, and each that is plugged in later.
///
/// One that is pulled out keeps its radio, which says that it is absent; plugged in again it is the same one, whatever its
/// number.
public final class AdapterRoster: Sendable {
    /// The time of all of them.
    public let timeline: any Timeline

    private let kernel: Kernel
    private let loop: EventLoop
    private let management: ManagementSocket
    private let radios = Mutex<[LinuxRadio]>([])

    /// Begins to watch.
    ///
    /// - Parameter mayBeMissing: whether the first may turn up later.
    /// - Throws: ``BLEError/Code/adapterNotFound`` where there is none and one must be,
    ///   ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel, ``BLEError/Code/permissionDenied`` where the
    ///   system lets this program open no Bluetooth socket.
    public convenience init(mayBeMissing: Bool) throws(BLEError) {
        try self.init(mayBeMissing: mayBeMissing, on: .ofThisMachine, timeline: RealTimeline())
    }

    init(mayBeMissing: Bool, on kernel: Kernel, timeline: any Timeline) throws(BLEError) {
        let object = "all adapters"
        if try LinuxRadio.adapters(of: kernel).isEmpty, !mayBeMissing {
            throw .noAdapter(operation: "open", object: object)
        }
        // With its index, that of no adapter, it hears of those that are announced.
        let none = try LinuxAdapter(nil, socket: nil, refusal: nil, of: kernel)
        do throws(SystemError) {
            loop = try EventLoop(name: "ble-adapters", on: kernel)
            management = try ManagementSocket(adapter: none, loop: loop, timeline: timeline)
        } catch {
            throw .noBluetooth(error, operation: "open", object: object)
        }
        self.timeline = timeline
        self.kernel = kernel
    }

    /// Hands out the radio of each adapter that is there, before this returns, and later of each that is new, until the
    /// activity is cancelled.
    ///
    /// - Parameter add: is called on the roster's own thread later; once for each adapter.
    public func observe(_ add: @escaping @Sendable (LinuxRadio) -> Void) -> RadioActivity {
        let sink = EventSink(add)
        let events = management.observe { [weak self] _ in self?.look(sink) }
        look(sink)
        return RadioActivity { [self] in
            sink.close()
            events.cancel()
            withExtendedLifetime(self) {}
        }
    }

    private func look(_ sink: EventSink<LinuxRadio>) {
        let new = radios.withLock { radios -> [LinuxRadio] in
            var new: [LinuxRadio] = []
            for info in (try? LinuxRadio.adapters(of: kernel)) ?? [] {
                let isKnown = radios.contains { radio in
                    // Looked up by its address: one that is absent may have had the number that is another's now.
                    let known = radio.adapterInfo
                    return known.state != .absent && (known.name, known.address) == (info.name, info.address)
                }
                if isKnown { continue }
                if let radio = try? LinuxRadio(adapter: info.name, on: kernel, timeline: timeline) { new.append(radio) }
            }
            radios += new
            return new
        }
        for radio in new { sink.send(radio) }
    }
}
