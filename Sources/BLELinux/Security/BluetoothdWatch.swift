internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Reports when a bluetoothd appears on the system bus, as long as the watch is retained: one that starts knows no
/// agent.
///
/// Source: D-Bus Specification, `org.freedesktop.DBus.NameOwnerChanged`.
final class BluetoothdWatch: Sendable {
    private struct State {
        var bus: BusConnection?
        var isOver = false
    }

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

    /// Starts, on the loop's thread; a bus that can't be reached is not watched.
    ///
    /// - Parameter came: called on the loop's thread.
    func begin(
        over bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        came: @escaping @Sendable () -> Void
    ) {
        BusConnection.open(
            bus,
            on: loop,
            timeline: timeline,
            deadline: PairingAgent.patience,
            received: { message in
                if Self.tellsOfArrival(message) { came() }
                return nil
            },
            ended: {},
            opened: { [weak self] opened in
                guard let bus = try? opened.get() else { return }
                guard let self, self.keep(bus) else { return bus.close() }
                bus.call(.busCall("AddMatch", [.string(Self.rule)]), deadline: PairingAgent.patience) { _ in }
            }
        )
    }

    /// Ends it.
    func end() {
        let bus = state.withLock { state in
            state.isOver = true
            return state.bus.take()
        }
        bus?.close()
    }

    private func keep(_ bus: BusConnection) -> Bool {
        state.withLock { state in
            if !state.isOver { state.bus = bus }
            return !state.isOver
        }
    }
}
