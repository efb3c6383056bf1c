internal import BLERadio
internal import Synchronization

/// Reports when a bluetoothd appears on the system bus, or leaves it, as long as the watch is retained: one that starts
/// knows no agent.
///
/// Source: D-Bus Specification, `org.freedesktop.DBus.NameOwnerChanged`.
final class BluetoothdWatch: Sendable {
    private struct State {
        var bus: BusConnection?
        /// The pause before the bus is tried again.
        var timer: RadioActivity?
        var isOver = false
    }

    /// After how long a bus that can't be reached, or has ended the connection, is tried again, at first and at last:
    /// one that is restarted is back in a moment.
    static let pauses = (first: Duration.seconds(3), longest: Duration.seconds(60))

    /// What the bus is asked to report: that bluetoothd's name has another owner, or none.
    static let rule =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
        + "member='NameOwnerChanged',arg0='\(BusMessage.bluetoothd)'"

    private let state = Mutex(State())

    /// Whether a message says that bluetoothd has appeared, or that another one has replaced it.
    static func tellsOfArrival(_ message: BusMessage) -> Bool {
        owners(in: message).map { !$0.new.isEmpty } ?? false
    }

    /// Whether a message says that the bluetoothd with this unique name has left the bus.
    static func tellsOfDeparture(_ message: BusMessage, of bluetoothd: String) -> Bool {
        owners(in: message).map { $0.old == bluetoothd && $0.new != bluetoothd } ?? false
    }

    /// The unique names of the bluetoothd before and after a change; `nil` for any other message.
    private static func owners(in message: BusMessage) -> (old: String, new: String)? {
        guard message.kind == .signal, message.sender == "org.freedesktop.DBus", message.member == "NameOwnerChanged",
            message.arguments.count == 3, message.arguments[0] == .string(BusMessage.bluetoothd),
            case .string(let old) = message.arguments[1], case .string(let new) = message.arguments[2]
        else { return nil }
        return (old, new)
    }

    /// Starts, on the loop's thread. A bus that can't be reached, or ends the connection, is tried again until it is
    /// there; without libdbus, nothing is watched.
    ///
    /// - Parameters:
    ///   - came: called on the loop's thread, also for a bluetoothd that replaces another one; also when such a bus is
    ///     there, since a bluetoothd may have come meanwhile.
    ///   - left: called on the loop's thread when a bluetoothd has left, and no other one has replaced it.
    func begin(
        over bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        came: @escaping @Sendable () -> Void,
        left: @escaping @Sendable () -> Void = {}
    ) {
        open(bus, loop, timeline, failures: nil) { isThere in isThere ? came() : left() }
    }

    /// - Parameter failures: how often the bus could not be reached since it was tried again; `nil` at the first
    ///   attempt.
    private func open(
        _ bus: SystemBus,
        _ loop: EventLoop,
        _ timeline: any Timeline,
        failures: Int?,
        _ changed: @escaping @Sendable (_ isThere: Bool) -> Void
    ) {
        let again: @Sendable (Int) -> Void = { [weak self] failures in
            guard let self else { return }
            let delay = min(Self.pauses.first * (1 << min(failures, 8)), Self.pauses.longest)
            let timer = timeline.schedule(after: delay) { [weak self] in
                loop.enqueue { [weak self] in self?.open(bus, loop, timeline, failures: failures, changed) }
            }
            if !pause(timer) { timer.cancel() }
        }
        BusConnection.open(
            bus,
            on: loop,
            timeline: timeline,
            deadline: PairingAgent.patience,
            received: { message in
                if Self.owners(in: message) != nil { changed(Self.tellsOfArrival(message)) }
                return nil
            },
            ended: { again(0) },
            opened: { [weak self] opened in
                let bus: BusConnection
                do throws(BusFailure) {
                    bus = try opened.get()
                } catch .noLibrary {
                    // It is looked for once in a program.
                    return
                } catch {
                    // The program may have run out of descriptors at the very first attempt.
                    return again(failures.map { $0 + 1 } ?? 0)
                }
                guard let self, self.keep(bus) else { return bus.close() }
                bus.call(.busCall("AddMatch", [.string(Self.rule)]), deadline: PairingAgent.patience) { _ in
                    if failures != nil { changed(true) }
                }
            }
        )
    }

    /// Ends it.
    func end() {
        let (bus, timer) = state.withLock { state in
            state.isOver = true
            return (state.bus.take(), state.timer.take())
        }
        timer?.cancel()
        bus?.close()
    }

    private func keep(_ bus: BusConnection) -> Bool {
        state.withLock { state in
            if !state.isOver { (state.bus, state.timer) = (bus, nil) }
            return !state.isOver
        }
    }

    /// The bus has ended the connection, or can't be reached again yet. Returns whether it is to be tried again.
    private func pause(_ timer: RadioActivity) -> Bool {
        typealias Former = (bus: BusConnection?, timer: RadioActivity?)
        // Released outside the lock: what they hold may be deallocated with them.
        let former = state.withLock { state -> Former? in
            guard !state.isOver else { return nil }
            defer { (state.bus, state.timer) = (nil, timer) }
            return (state.bus, state.timer)
        }
        // A connection that ends before it is open reports both.
        former?.timer?.cancel()
        return former != nil
    }
}
