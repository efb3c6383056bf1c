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
                    remove(device, from: adapter, over: bus) { failure in
                        bus.close()
                        tell(failure)
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

    /// Has it remove a device; one that it doesn't know by its address may have another path.
    private static func remove(
        _ device: BluetoothAddress,
        from adapter: String,
        over bus: BusConnection,
        _ done: @escaping @Sendable (BusFailure?) -> Void
    ) {
        bus.call(removal(of: device, from: adapter), deadline: PairingAgent.patience) { removed in
            guard case .failure(.refused(doesNotExist, _)) = removed else { return done(removed.failure) }
            bus.call(devicesQuestion(of: adapter), deadline: PairingAgent.patience) { answer in
                guard case .success(let reply) = answer, case .string(let text)? = reply.arguments.first else {
                    return done(answer.failure)
                }
                removeFormer(device, at: privatePaths(in: text, of: adapter)[...], from: adapter, over: bus, done)
            }
        }
    }

    /// Asks it about one path after the other, and has it remove the device there that has the address now.
    ///
    /// It keeps the path under which it came to know a device: see ``AgentQuestions/pathToLookUp(in:)``.
    private static func removeFormer(
        _ device: BluetoothAddress,
        at paths: ArraySlice<String>,
        from adapter: String,
        over bus: BusConnection,
        _ done: @escaping @Sendable (BusFailure?) -> Void
    ) {
        guard let path = paths.first else { return done(nil) }
        bus.call(addressQuestion(at: path), deadline: PairingAgent.patience) { answer in
            switch answer {
            case .success(let reply) where address(in: reply) == device.rawValue:
                let call = removal(at: path, from: adapter)
                return bus.call(call, deadline: PairingAgent.patience) { done($0.failure) }
            case .failure(let failure) where failure.leavesDoubt: return done(failure)
            case .success, .failure: break
            }
            removeFormer(device, at: paths.dropFirst(), from: adapter, over: bus, done)
        }
    }

    /// What it answers about a device that it doesn't know.
    private static let doesNotExist = "org.bluez.Error.DoesNotExist"

    /// The call that removes a device; bluetoothd drops a link to it too. Source: BlueZ, `doc/adapter-api.txt`.
    static func removal(of device: BluetoothAddress, from adapter: String) -> BusMessage {
        removal(at: path(of: device, on: adapter), from: adapter)
    }

    private static func removal(at path: String, from adapter: String) -> BusMessage {
        .call(
            "RemoveDevice",
            of: "org.bluez.Adapter1",
            at: self.path(of: adapter),
            in: BusMessage.bluetoothd,
            [.objectPath(path)]
        )
    }

    /// The call that lists the devices of an adapter, as part of a description in XML. Source: D-Bus Specification,
    /// "Introspection Data Format".
    private static func devicesQuestion(of adapter: String) -> BusMessage {
        .call(
            "Introspect",
            of: "org.freedesktop.DBus.Introspectable",
            at: path(of: adapter),
            in: BusMessage.bluetoothd
        )
    }

    /// The paths in such a description of the devices that were got to know by private addresses.
    private static func privatePaths(in description: String, of adapter: String) -> [String] {
        description.split(separator: "\"").map { name in "\(path(of: adapter))/\(name)" }
            .filter { privateDevice(at: $0, of: adapter) != nil }
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

    /// The octets of the address in the answer to that; `nil` if there is none.
    static func address(in reply: BusMessage) -> UInt64? {
        guard case .string(let text)? = reply.arguments.first else { return nil }
        return BluetoothAddress.candidates(for: text).first?.rawValue
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

    /// The same for a path with a private address; `nil` for another path. The device may have another address by now.
    static func privateDevice(at path: String, of adapter: String) -> UInt64? {
        guard let octets = device(at: path, of: adapter),
            BluetoothAddress(rawValue: octets, kind: .random).subkind == .resolvablePrivate
        else { return nil }
        return octets
    }

    static func path(of adapter: String) -> String { "/org/bluez/\(adapter)" }
}
