public import BLEProtocol
public import BLERadio
internal import Synchronization

/// The adapters of this machine as radios: those present, and each one plugged in later.
///
/// An unplugged adapter keeps its radio, which reports that it is absent. Plugged in again, under any number, it has
/// the same radio.
public final class AdapterRoster: Sendable {
    /// The timeline of all the radios.
    public let timeline: any Timeline

    private let kernel: Kernel
    private let loop: EventLoop
    private let management: ManagementSocket
    private let radios = Mutex<[LinuxRadio]>([])
    /// The timer of the next look at the adapters, after one for which something had run out.
    private let patience = Mutex<RadioActivity?>(nil)

    /// How long after such a look the next one follows.
    private static let interval = Duration.seconds(1)

    /// Begins to watch the adapters.
    ///
    /// - Parameter mayBeMissing: whether the first adapter may appear later.
    /// - Throws: ``BLEError/Code/adapterNotFound`` if there is none and one is required,
    ///   ``BLEError/Code/adapterBlocked`` if that is the work of a switch of the machine,
    ///   ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel, ``BLEError/Code/permissionDenied`` if the
    ///   system doesn't let this program open Bluetooth sockets, ``BLEError/Code/systemFailure`` if something has run
    ///   out, such as descriptors.
    public convenience init(mayBeMissing: Bool) throws(BLEError) {
        try self.init(mayBeMissing: mayBeMissing, on: .ofThisMachine, timeline: RealTimeline())
    }

    init(mayBeMissing: Bool, on kernel: Kernel, timeline: any Timeline) throws(BLEError) {
        let object = "all adapters"
        if try LinuxRadio.adapters(of: kernel).isEmpty, !mayBeMissing {
            throw .noAdapter(operation: "open", object: object, cut: RadioSwitches.cut(on: kernel))
        }
        // With the index that stands for no adapter, it receives the announcements of all adapters.
        let none = try LinuxAdapter(nil, socket: nil, refusal: nil, of: kernel)
        do throws(SystemError) {
            loop = try EventLoop(name: "ble-adapters", on: kernel)
        } catch {
            throw .system(error, call: "starting the event loop", operation: "open", object: object)
        }
        do throws(SystemError) {
            management = try ManagementSocket(adapter: none, loop: loop, timeline: timeline)
        } catch {
            throw .noBluetooth(error, operation: "open", object: object, on: kernel)
        }
        self.timeline = timeline
        self.kernel = kernel
    }

    deinit { patience.withLock { $0 }?.cancel() }

    /// Calls the closure with the radio of each present adapter, before this returns, and later with that of each new
    /// one, until the activity is cancelled. An adapter that can't be opened because something has run out, such as
    /// descriptors, is tried again every second.
    ///
    /// - Parameter add: called once for each adapter; later on the roster's own thread.
    public func observe(_ add: @escaping @Sendable (LinuxRadio) -> Void) -> RadioActivity {
        let sink = EventSink(add)
        let events = management.observe(
            { [weak self] _ in self?.look(sink) },
            lost: { [weak self] _ in self?.look(sink) }
        )
        look(sink)
        return RadioActivity { [self] in
            sink.close()
            events.cancel()
            patience.withLock { $0.take() }?.cancel()
            withExtendedLifetime(self) {}
        }
    }

    private func look(_ sink: EventSink<LinuxRadio>) {
        guard sink.isOpen else { return }
        let (new, isShort) = radios.withLock { radios in
            let (new, isShort) = open(without: radios)
            radios += new
            return (new, isShort)
        }
        for radio in new { sink.send(radio) }
        if isShort { lookAgain(sink) }
    }

    /// Opens the adapters without a radio.
    ///
    /// - Returns: also whether something has run out, so that some are missing.
    private func open(without radios: [LinuxRadio]) -> (new: [LinuxRadio], isShort: Bool) {
        var (new, isShort): ([LinuxRadio], Bool) = ([], false)
        do throws(BLEError) {
            for info in try LinuxRadio.adapters(of: kernel) {
                // Looked up by its address: an absent adapter may have had a number that another one has now.
                let known = radios.map(\.adapterInfo)
                if known.contains(where: { $0.state != .absent && $0.name == info.name }) { continue }
                // A controller that has yet to tell its address may be that of an absent adapter, which would have two
                // radios then. The kernel announces it once it is started.
                if info.isUnidentified, known.contains(where: { $0.state == .absent }) { continue }
                do throws(BLEError) {
                    new.append(try LinuxRadio(adapter: info.name, on: kernel, timeline: timeline))
                } catch {
                    if error.code == .systemFailure { isShort = true }
                }
            }
        } catch {
            isShort = error.code == .systemFailure
        }
        return (new, isShort)
    }

    /// No event tells that there is enough again.
    private func lookAgain(_ sink: EventSink<LinuxRadio>) {
        let timer = timeline.schedule(after: Self.interval) { [weak self] in
            guard let self else { return }
            loop.enqueue { [weak self] in self?.look(sink) }
        }
        let former = patience.withLock { patience in
            defer { patience = timer }
            return patience
        }
        former?.cancel()
    }
}

extension AdapterInfo {
    /// Whether its controller is starting and has not told its address.
    fileprivate var isUnidentified: Bool { state.isPassing && (address?.rawValue ?? 0) == 0 }
}
