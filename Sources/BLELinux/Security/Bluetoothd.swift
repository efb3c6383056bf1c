internal import BLEProtocol
internal import BLERadio

/// BlueZ's daemon, as far as it matters to a program that shares the kernel's Bluetooth with it.
enum Bluetoothd {
    /// Whether it runs, as far as is known.
    enum Presence: Hashable, Sendable {
        case here
        case absent
        /// This program sees neither all processes nor the system bus.
        case unknown
    }

    /// The name of the machine's own list of processes; a container's has another name. Source: kernel,
    /// `include/linux/proc_ns.h`, `PROC_PID_INIT_INO`.
    static let machinesProcesses = "pid:[4026531836]"

    /// Whether the list of processes is the machine's, and complete: a container has its own, and `hidepid` and
    /// `ProtectProc` hide those of others. Reads files.
    static func seesAllProcesses(on kernel: Kernel) -> Bool {
        destination(ofLink: "/proc/self/ns/pid", of: kernel) == machinesProcesses
            && textFile("/proc/1/comm", of: kernel) != nil
    }

    /// What the list of processes shows; reads files. A process that can't be looked at because something has run out,
    /// such as descriptors, may be it.
    static func presenceByProcesses(on kernel: Kernel) -> Presence {
        let processes = namesInFolder("/proc", of: kernel).filter { $0.allSatisfy(\.isNumber) }
        var isComplete = !processes.isEmpty
        for process in processes {
            do throws(SystemError) {
                if try readTextFile("/proc/\(process)/comm", of: kernel) == "bluetoothd" { return .here }
            } catch {
                // Any other one has ended.
                if error.isShortage { isComplete = false }
            }
        }
        return isComplete && seesAllProcesses(on: kernel) ? .absent : .unknown
    }

    /// Asks the system bus whether bluetoothd is on it; the closure is called once, on the loop's thread.
    static func findOnBus(
        _ bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        _ result: @escaping @Sendable (Presence) -> Void
    ) {
        openBus(bus, loop: loop, timeline: timeline) { opened in
            guard let bus = try? opened.get() else { return result(.unknown) }
            bus.call(.busCall("GetNameOwner", [.string(BusMessage.bluetoothd)]), deadline: PairingAgent.patience) {
                answer in
                bus.close()
                switch answer {
                case .success: result(.here)
                case .failure(.refused(BusFailure.noOwner, _)): result(.absent)
                case .failure: result(.unknown)
                }
            }
        }
    }

    /// Opens a connection for questions alone; the closure is called once, on the loop's thread, and closes what it
    /// gets.
    static func openBus(
        _ bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        _ opened: @escaping @Sendable (Result<BusConnection, BusFailure>) -> Void
    ) {
        BusConnection.open(
            bus,
            on: loop,
            timeline: timeline,
            deadline: PairingAgent.patience,
            received: { _ in nil },
            ended: {},
            opened: opened
        )
    }

    /// Makes bluetoothd, if it is on the bus, forget a device: the kernel's event that one was unpaired removes nothing
    /// from its disk, and the keys would be back at its next start. Never starts it.
    ///
    /// - Parameter done: called once, on the loop's thread, with the failure if bluetoothd may still have the device:
    ///   nobody has answered, perhaps because bluetoothd or the bus has ended meanwhile, or the bus keeps this program
    ///   from asking.
    static func forget(
        _ device: BluetoothAddress,
        of adapter: String,
        over bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        _ done: @escaping @Sendable (BusFailure?) -> Void
    ) {
        let patience = PairingAgent.patience
        @Sendable func tell(_ failure: BusFailure?) { done(failure?.leavesDoubt == true ? failure : nil) }
        guard bus.isThere else { return tell(nil) }
        openBus(bus, loop: loop, timeline: timeline) { opened in
            guard let bus = try? opened.get() else { return tell(opened.failure) }
            bus.call(.busCall("GetNameOwner", [.string(BusMessage.bluetoothd)]), deadline: patience) { owner in
                switch owner {
                case .success:
                    bus.call(removal(of: device, from: adapter), deadline: patience) { removed in
                        bus.close()
                        tell(removed.failure)
                    }
                case .failure(.refused(BusFailure.noOwner, _)):
                    bus.close()
                    tell(nil)
                case .failure(let failure):
                    bus.close()
                    tell(failure)
                }
            }
        }
    }

    /// The call that removes a device; bluetoothd drops a link to it too. Source: BlueZ, `doc/adapter-api.txt`.
    static func removal(of device: BluetoothAddress, from adapter: String) -> BusMessage {
        .call(
            "RemoveDevice",
            of: "org.bluez.Adapter1",
            at: path(of: adapter),
            in: BusMessage.bluetoothd,
            [.objectPath(path(of: device, on: adapter))]
        )
    }

    /// The call that reads the address that a device has now. Source: BlueZ, `doc/device-api.txt`, `Address`.
    static func addressQuestion(at path: String) -> BusMessage {
        .call(
            "Get",
            of: "org.freedesktop.DBus.Properties",
            at: path,
            in: BusMessage.bluetoothd,
            [.string("org.bluez.Device1"), .string("Address")]
        )
    }

    /// The object path of a device, with its address as `C4_F2_17_1A_1D_BB`.
    static func path(of device: BluetoothAddress, on adapter: String) -> String {
        "\(path(of: adapter))/dev_\(String("\(device)".map { $0 == ":" ? "_" : $0 }))"
    }

    /// The octets of the device's address at such a path; `nil` for another path.
    static func device(at path: String, of adapter: String) -> UInt64? {
        guard let octets = UInt64(path.suffix(17).filter { $0 != "_" }, radix: 16), octets >> 48 == 0,
            path == self.path(of: BluetoothAddress(rawValue: octets, kind: .public), on: adapter)
        else { return nil }
        return octets
    }

    static func path(of adapter: String) -> String { "/org/bluez/\(adapter)" }
}
