package import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Examines the machine: asks the kernel and bluetoothd only what requires no permission, and changes nothing.
///
/// Each question has its own deadline, so a controller or a bus that hangs is a finding like any other.
package final class Examination: Sendable {
    private let kernel: Kernel
    private let timeline: any Timeline
    private let bus: SystemBus
    private let facts: Mutex<MachineFacts>

    /// Examines this machine's adapter with that name, or all; the closure is called once, on any thread.
    package static func run(_ adapter: String?, result: @escaping @Sendable (Diagnosis) -> Void) {
        Examination(adapter, on: .ofThisMachine, bus: .standard, timeline: RealTimeline()).run(result)
    }

    init(_ adapter: String?, on kernel: Kernel, bus: SystemBus, timeline: any Timeline) {
        self.kernel = kernel
        self.bus = bus
        self.timeline = timeline
        facts = Mutex(
            MachineFacts(release: kernelRelease(of: kernel), rights: ProcessRights(of: kernel), wanted: adapter)
        )
    }

    func run(_ result: @escaping @Sendable (Diagnosis) -> Void) {
        let loop: EventLoop
        do throws(SystemError) {
            try readAdapters(through: try FileDescriptor.hciSocket(of: kernel))
            loop = try EventLoop(name: "ble-doctor", on: kernel)
        } catch {
            let hidden = HiddenBluetooth(error, on: kernel)
            let isKnown = facts.withLock { facts in
                if facts.adapters.isEmpty, facts.others.isEmpty { (facts.refusal, facts.hidden) = (error, hidden) }
                return facts.diagnosis
            }
            return result(isKnown)
        }
        let presence = Bluetoothd.presenceByProcesses(on: kernel)
        facts.withLock { $0.bluetoothd = presence }
        loop.enqueue { [self] in
            askControllers(on: loop) { [self] in
                askBluetoothd(on: loop) { [self] in result(facts.withLock { $0.diagnosis }) }
            }
        }
    }

    // MARK: - The kernel's lists

    private func readAdapters(through socket: consuming FileDescriptor) throws(SystemError) {
        let listed = try socket.adaptersAsListed()
        let wanted = facts.withLock { $0.wanted }
        var adapters: [MachineFacts.Adapter] = []
        var others: [String] = []
        for found in listed.sorted(by: { $0.number < $1.number }) {
            let name = "hci\(found.number)"
            guard wanted == nil || wanted == name else {
                others.append(name)
                continue
            }
            var adapter = MachineFacts.Adapter(
                name: name,
                kernel: found,
                state: AdapterInfo(found, name: name, on: kernel).state,
                block: RadioSwitches.block(of: name, on: kernel)
            )
            adapter.device = try? USBDevice.find(name, of: kernel)
            adapter.rival = LinuxAdapter.rival(of: found, among: listed).map { "hci\($0.number)" }
            adapter.peers = (try? socket.peers(of: found.number, asCentral: true)) ?? []
            adapters.append(adapter)
        }
        let cut = listed.isEmpty ? RadioSwitches.cut(on: kernel) : nil
        facts.withLock { ($0.adapters, $0.others, $0.cut) = (adapters, others, cut) }
    }

    // MARK: - Questions, on the loop's thread

    private func askControllers(on loop: EventLoop, then next: @escaping @Sendable () -> Void) {
        let numbers = facts.withLock { $0.adapters.map(\.kernel.number) }
        guard let socket = try? FileDescriptor.hciSocket(of: kernel), (try? socket.bind(to: .control)) != nil,
            let management = try? ManagementSocket(over: socket, loop: loop, timeline: timeline, index: { .none })
        else { return next() }
        ask(numbers[...], management, then: next)
    }

    private func ask(
        _ numbers: ArraySlice<UInt16>,
        _ management: ManagementSocket,
        then next: @escaping @Sendable () -> Void
    ) {
        guard let number = numbers.first else { return next() }
        management.submit(ManagementReadInformation(), index: ManagementIndex(rawValue: number)) { [self] answer in
            facts.withLock { facts in
                guard let place = facts.adapters.firstIndex(where: { $0.kernel.number == number }) else { return }
                facts.adapters[place].information = try? answer.get()
                facts.adapters[place].isUnknown = answer.failure?.status == .invalidIndex
            }
            ask(numbers.dropFirst(), management, then: next)
        }
    }

    private func askBluetoothd(on loop: EventLoop, then next: @escaping @Sendable () -> Void) {
        let names = facts.withLock { $0.adapters.map(\.name) }
        Bluetoothd.findWhetherItScans(with: names, over: bus, loop: loop, timeline: timeline) { [self] answers in
            facts.withLock { facts in
                if !answers.isEmpty { facts.bluetoothd = .here }
                for place in facts.adapters.indices {
                    facts.adapters[place].isScannedByBluetoothd = answers[facts.adapters[place].name]
                }
            }
            next()
        }
    }
}
