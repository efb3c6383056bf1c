internal import BLERadio

/// BlueZ's daemon, as far as it matters to who shares the kernel's Bluetooth with it.
enum Bluetoothd {
    /// Whether it is there, as far as can be known.
    enum Presence: Hashable, Sendable {
        case here
        case absent
        /// This program sees neither all processes nor the system bus.
        case unknown
    }

    /// Whether one runs where this program can see it. It gives the kernel the keys of its own bonds, in a list that
    /// only one program can set. Reads files.
    static var isRunning: Bool {
        namesInFolder("/proc").contains { name in
            name.allSatisfy(\.isNumber) && textFile("/proc/\(name)/comm") == "bluetoothd"
        }
    }

    /// Whether the list of processes is the machine's, and whole: a container has one of its own, and `hidepid` and
    /// `ProtectProc` hide those of others. Reads files. Source: kernel, `include/linux/proc_ns.h`, `PROC_PID_INIT_INO`.
    static var seesAllProcesses: Bool {
        destination(ofLink: "/proc/self/ns/pid") == "pid:[4026531836]" && textFile("/proc/1/comm") != nil
    }

    /// What the list of processes tells; reads files.
    static var presenceByProcesses: Presence { isRunning ? .here : seesAllProcesses ? .absent : .unknown }

    /// Asks the system bus whether bluetoothd is on it; the closure is called once, on the loop's thread.
    static func findOnBus(
        _ bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        _ result: @escaping @Sendable (Presence) -> Void
    ) {
        BusConnection.open(
            bus,
            on: loop,
            timeline: timeline,
            deadline: PairingAgent.patience,
            received: { _ in nil },
            ended: {},
            opened: { opened in
                guard let bus = try? opened.get() else { return result(.unknown) }
                bus.call(.busCall("GetNameOwner", [.string(BusMessage.bluetoothd)]), deadline: PairingAgent.patience) {
                    answer in
                    bus.close()
                    switch answer {
                    case .success: result(.here)
                    case .failure(.refused("org.freedesktop.DBus.Error.NameHasNoOwner", _)): result(.absent)
                    case .failure: result(.unknown)
                    }
                }
            }
        )
    }
}
