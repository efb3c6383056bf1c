import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// What is found at a machine, each fault on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct ExaminationTests {
    private let kernel = FakeKernel { state in
        state.release = "6.12.41-amd64"
        state.links["/proc/self/exe"] = "/opt/gateway"
        Self.setCapabilities(0x3000, &state)
    }

    private static func setCapabilities(_ bits: UInt64, _ state: inout FakeState) {
        let digits = String(bits, radix: 16)
        let padded = String(repeating: "0", count: 16 - digits.count) + digits
        state.files["/proc/self/status"] = Array("Name:\tgateway\nCapInh:\t0000000000000000\nCapEff:\t\(padded)\n".utf8)
    }

    /// Examines the machine, and checks that nothing is left of that.
    private func examine(_ adapter: UInt16?) async throws -> Diagnosis {
        let run = FakeRun(kernel: kernel)
        let nowhere = SystemBus(address: "unix:path=/nowhere")
        let diagnosis: Diagnosis = try await run.answer("examining") { result in
            let name = adapter.map { kernel.name($0) }
            Examination(name, on: kernel.kernel, bus: nowhere, timeline: run.timeline).run(result)
        }
        await kernel.idle()
        #expect(kernel.leftovers.isEmpty && run.timeline.running == 0)
        return diagnosis
    }

    private func only(_ diagnosis: Diagnosis) throws -> Diagnosis.Finding {
        try #require(diagnosis.findings.count == 1, "\(diagnosis.findings)")
        return diagnosis.findings[0]
    }

    @Test func `at a machine where all is well nothing is found`() async throws {
        let diagnosis = try await examine(nil)
        #expect(diagnosis.findings.isEmpty && diagnosis.isUsable)
        #expect(diagnosis.system == "Linux 6.12.41-amd64")
        #expect(diagnosis.adapters.map(\.name) == [kernel.name(kernel.central), kernel.name(kernel.peripheral)])
    }

    @Test(arguments: [
        (EAFNOSUPPORT, Diagnosis.Kind.noBluetooth, "--network=host"), (EPERM, .socketsRefused, "AF_BLUETOOTH"),
        // systemd's filter refuses with it, too.
        (EAFNOSUPPORT, .noBluetooth, "a service AF_BLUETOOTH in RestrictAddressFamilies"),
    ])
    func `a system without Bluetooth sockets`(_ error: Int32, _ kind: Diagnosis.Kind, _ remedy: String) async throws {
        kernel.with { $0.fault = SystemFault(call: .socket, number: 1, effect: .keepsFailing(error)) }
        let finding = try only(try await examine(nil))
        #expect(finding.kind == kind && finding.severity == .obstacle && finding.remedy.contains(remedy))
    }

    @Test(arguments: [
        ("0::/system.slice/gateway.service", [], "systemctl edit gateway.service"),
        ("0::/", ["/.dockerenv"], "--network=host"), ("0::/user.slice/session-3.scope", [], "unshare --net"),
    ])
    func `sockets that are kept from the program are not said to be missing in the kernel`(
        _ group: String,
        _ marks: [String],
        _ remedy: String
    ) async throws {
        kernel.with { state in
            state.fault = SystemFault(call: .socket, number: 1, effect: .keepsFailing(EAFNOSUPPORT))
            state.files["/proc/self/cgroup"] = Array("\(group)\n".utf8)
            state.links["/sys/class/bluetooth/hci0"] = "../../devices/hci0"
            state.links["/sys/class/bluetooth/hci0:64"] = "../../devices/hci0/hci0:64"
            for mark in marks { state.files[mark] = [] }
        }
        let finding = try only(try await examine(nil))
        let failure = #expect(throws: BLEError.self) {
            _ = try LinuxRadio(adapter: nil, on: kernel.kernel, timeline: StepTimeline())
        }
        #expect(finding.kind == .noBluetooth && failure?.code == .unsupportedSystem)
        for (cause, text) in [(finding.cause, finding.remedy), (failure?.cause ?? "", failure?.remedy ?? "")] {
            #expect(cause.contains("has the adapter hci0, but") && cause.contains("errno \(EAFNOSUPPORT)"))
            #expect(!cause.contains("no Bluetooth") && text.contains(remedy) && !text.contains("modprobe"))
        }
    }

    @Test(arguments: [(ENOMEM, Diagnosis.Kind.noBluetooth, "Free some memory"), (EPERM, .socketsRefused, "container")])
    func `adapters that the kernel doesn't list are not said to be missing`(
        _ error: Int32,
        _ kind: Diagnosis.Kind,
        _ remedy: String
    ) async throws {
        kernel.with { $0.fault = SystemFault(call: .adapterList, number: 1, effect: .keepsFailing(error)) }
        let finding = try only(try await examine(nil))
        #expect(finding.kind == kind && finding.severity == .obstacle && finding.remedy.contains(remedy))
        let failure = #expect(throws: BLEError.self) {
            _ = try LinuxRadio(adapter: nil, on: kernel.kernel, timeline: StepTimeline())
        }
        #expect(failure?.systemError == error && failure?.remedy.contains(remedy) == true)
    }

    @Test func `no adapter, or not the one that was named`() async throws {
        let diagnosis = try await examine(7)
        let named = try only(diagnosis)
        #expect(named.kind == .noAdapter && named.cause.contains("hci7") && !diagnosis.isUsable)
        #expect(named.remedy.contains(kernel.name(kernel.central)))
        kernel.with { $0.adapters = [:] }
        #expect(try only(try await examine(nil)).kind == .noAdapter)
    }

    @Test func `an adapter that is switched off`() async throws {
        kernel.with { $0.adapters[kernel.central]?.settings.remove(.powered) }
        let finding = try only(try await examine(kernel.central))
        #expect(finding.kind == .poweredOff && finding.severity == .obstacle)
        #expect(finding.remedy.contains("Central.setPowered(true)"))
    }

    @Test func `one adapter that works is enough`() async throws {
        kernel.with { $0.adapters[kernel.central]?.settings.remove(.powered) }
        let diagnosis = try await examine(nil)
        #expect(try only(diagnosis).severity == .limitation && diagnosis.isUsable)
        kernel.with { $0.adapters[kernel.peripheral]?.settings.remove(.powered) }
        #expect(try await examine(nil).findings.map(\.severity) == [.obstacle, .obstacle])
    }

    @Test(arguments: [("soft", "rfkill unblock bluetooth"), ("hard", "radio switch")])
    func `a switch that keeps an adapter off`(_ which: String, _ remedy: String) async throws {
        kernel.with { state in
            state.adapters[kernel.central]?.settings.remove(.powered)
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("\(kernel.name(kernel.central))\n".utf8)
            for kind in ["soft", "hard"] {
                state.files["/sys/class/rfkill/rfkill0/\(kind)"] = Array((kind == which ? "1\n" : "0\n").utf8)
            }
        }
        let finding = try only(try await examine(kernel.central))
        #expect(finding.kind == .blocked && finding.remedy.contains(remedy))
    }

    @Test(arguments: [("soft", "rfkill unblock bluetooth"), ("hard", "radio switch")])
    func `a switch of the machine that takes the adapter away`(_ which: String, _ remedy: String) async throws {
        kernel.with { state in
            state.adapters = [:]
            state.files["/sys/class/rfkill/rfkill0/type"] = Array("bluetooth\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("tpacpi_bluetooth_sw\n".utf8)
            for kind in ["soft", "hard"] {
                state.files["/sys/class/rfkill/rfkill0/\(kind)"] = Array((kind == which ? "1\n" : "0\n").utf8)
            }
        }
        for adapter in [nil, kernel.central] {
            let finding = try only(try await examine(adapter))
            #expect(finding.kind == .blocked && finding.cause.contains("tpacpi_bluetooth_sw"))
            #expect(finding.remedy.contains(remedy) && !finding.remedy.contains("Plug"))
        }
        let failure = #expect(throws: BLEError.self) {
            _ = try LinuxRadio(adapter: nil, on: kernel.kernel, timeline: StepTimeline())
        }
        #expect(failure?.code == .adapterBlocked && failure?.remedy.contains(remedy) == true)
        // A switch that is on takes nothing away.
        kernel.with { $0.files["/sys/class/rfkill/rfkill0/\(which)"] = Array("0\n".utf8) }
        #expect(try only(try await examine(nil)).kind == .noAdapter)
    }

    @Test func `Low Energy that is off, or missing`() async throws {
        kernel.with { $0.adapters[kernel.central]?.settings.remove(.lowEnergy) }
        #expect(try only(try await examine(kernel.central)).kind == .lowEnergyOff)
        kernel.with { $0.adapters[kernel.central]?.features[4] = 0x20 }
        #expect(try only(try await examine(kernel.central)).kind == .noLowEnergy)
    }

    @Test func `a controller that is starting, one without an address, and one that answers nothing`() async throws {
        kernel.with { $0.adapters[kernel.central]?.otherFlags = 1 << AdapterFacts.resetFlag }
        #expect(try only(try await examine(kernel.central)).kind == .notReady)
        kernel.with { $0.adapters[kernel.central]?.otherFlags = 1 << 8 }
        #expect(try await examine(kernel.central).findings.first?.kind == .notReady)
        kernel.with { state in
            state.adapters[kernel.central]?.otherFlags = 0
            state.adapters[kernel.central]?.silent = [0x04]
        }
        // What it doesn't tell is no finding.
        #expect(try await examine(kernel.central).findings.isEmpty)
    }

    @Test func `an adapter that another program has for itself`() async throws {
        kernel.with { $0.adapters[kernel.central]?.isTaken = true }
        let finding = try only(try await examine(kernel.central))
        #expect(finding.kind == .notReady && finding.severity == .obstacle)
        #expect(finding.cause.contains("another program") && finding.remedy.contains("End that program"))
    }

    @Test func `two adapters with one address`() async throws {
        kernel.with { state in
            guard let address = state.adapters[kernel.central]?.address else { return }
            state.adapters[kernel.peripheral]?.address = address
        }
        let diagnosis = try await examine(nil)
        let finding = try only(diagnosis)
        #expect(finding.kind == .sharedAddress && finding.severity == .limitation)
        #expect(finding.remedy.contains("Switch"))
    }

    @Test func `a link that somebody holds, and the program that may have made it`() async throws {
        kernel.with { $0.peers[.example] = FakePeer(address: .example) }
        let run = FakeRun(kernel: kernel)
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        let nowhere = SystemBus(address: "unix:path=/nowhere")
        let diagnosis: Diagnosis = try await run.answer("examining") { result in
            Examination(nil, on: kernel.kernel, bus: nowhere, timeline: run.timeline).run(result)
        }
        let finding = try only(diagnosis)
        #expect(finding.kind == .openLinks && finding.severity == .note && diagnosis.isUsable)
        #expect(finding.cause.contains("\(BluetoothAddress.example)") && !finding.remedy.contains("bluetoothctl"))
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    @Test func `a kernel with known faults`() async throws {
        kernel.with { $0.release = "6.1.0-40-amd64" }
        let diagnosis = try await examine(nil)
        #expect(diagnosis.findings.map(\.kind) == [.kernelFault, .kernelFault] && diagnosis.isUsable)
        #expect(diagnosis.findings.allSatisfy { $0.cause.contains("6.1.0-40") && $0.remedy.contains("newer kernel") })
    }

    @Test func `the signs of a controller that only claims to be its maker's`() async throws {
        // The kernel of these tests says that each is of Bluetooth 5, by maker 1521.
        kernel.with { state in
            let folder = "/sys/class/bluetooth/\(kernel.name(kernel.central))/device"
            state.links["\(folder)/subsystem"] = "../../../bus/usb"
            let facts = [
                ("busnum", "1"), ("devnum", "7"), ("idVendor", "0a12"), ("idProduct", "0001"), ("bcdDevice", "2520"),
            ]
            for (name, value) in facts { state.files["\(folder)/../\(name)"] = Array("\(value)\n".utf8) }
        }
        let finding = try only(try await examine(kernel.central))
        #expect(finding.kind == .counterfeit && finding.severity == .limitation)
        for sign in ["1521", "later than 4.0", "2520"] { #expect(finding.cause.contains(sign)) }
        kernel.with { state in
            let folder = "/sys/class/bluetooth/\(kernel.name(kernel.central))/device"
            state.files["\(folder)/../idProduct"] = Array("0002\n".utf8)
        }
        #expect(try await examine(kernel.central).findings.isEmpty)
    }

    // MARK: - Capabilities

    @Test(arguments: [
        ("0::/user.slice/session-3.scope", [], ["sudo setcap 'cap_net_admin,cap_net_raw+ep' /opt/gateway"]),
        (
            "0::/system.slice/gateway.service", [],
            ["systemctl edit gateway.service", "AmbientCapabilities=CAP_NET_ADMIN", "restart gateway.service"]
        ),
        (
            "0::/", ["/.dockerenv"],
            ["--cap-add=NET_ADMIN --cap-add=NET_RAW", "setcap 'cap_net_admin,cap_net_raw+ep' /opt/gateway"]
        ),
    ])
    func `a missing capability, with the remedy for where the program runs`(
        _ group: String,
        _ marks: [String],
        _ remedies: [String]
    ) async throws {
        kernel.with { state in
            Self.setCapabilities(1 << 13, &state)
            state.files["/proc/self/cgroup"] = Array("\(group)\n".utf8)
            for mark in marks { state.files[mark] = [] }
        }
        let diagnosis = try await examine(nil)
        let finding = try only(diagnosis)
        #expect(finding.kind == .missingCapability && !diagnosis.isUsable)
        #expect(finding.cause.contains("CAP_NET_ADMIN"))
        for remedy in remedies { #expect(finding.remedy.contains(remedy), "\(finding.remedy)") }
    }

    /// The kernel's path of the program, and the word of it in a command.
    @Test(arguments: [
        ("/opt/gateway (deleted)", "/opt/gateway"), ("/opt/my gateway", "'/opt/my gateway'"),
        ("/opt/it's (deleted)", "'/opt/it'\\''s'"), ("/opt/gateway-1.2_b+c", "/opt/gateway-1.2_b+c"),
    ])
    func `the command that grants a capability finds the program, though it was replaced or has a strange name`(
        _ path: String,
        _ word: String
    ) async throws {
        kernel.with { state in
            state.links["/proc/self/exe"] = path
            Self.setCapabilities(1 << 13, &state)
        }
        let finding = try only(try await examine(nil))
        #expect(finding.remedy.hasPrefix("Run \"sudo setcap 'cap_net_admin,cap_net_raw+ep' \(word)\" "))
        #expect(!finding.object.contains("(deleted)"))
    }

    /// As `setcap` does: the capabilities of each command replace those of the one before.
    @Test(arguments: [0, 1 << 12, 1 << 13] as [UInt64], ["0::/user.slice/session-3.scope", "0::/"])
    func `commands that grant what is missing take nothing away`(_ held: UInt64, _ group: String) async throws {
        kernel.with { state in
            Self.setCapabilities(held, &state)
            state.files["/proc/self/cgroup"] = Array("\(group)\n".utf8)
            if group == "0::/" { state.files["/.dockerenv"] = [] }
        }
        for finding in try await examine(nil).findings {
            let command = finding.remedy.firstMatch(of: /setcap '([^']+)\+ep'/)
            let names = try #require(command).1.split(separator: ",")
            let bits = names.reduce(UInt64(0)) { $0 | ($1 == "cap_net_admin" ? 0x1000 : 0x2000) }
            kernel.with { Self.setCapabilities(bits, &$0) }
        }
        #expect(try await examine(nil).findings.isEmpty)
    }

    @Test func `capabilities within a user namespace are none, and CAP_NET_RAW is only a limitation`() async throws {
        kernel.with { Self.setCapabilities(1 << 12, &$0) }
        let diagnosis = try await examine(nil)
        #expect(try only(diagnosis).severity == .limitation && diagnosis.isUsable)
        kernel.with { state in
            Self.setCapabilities(.max, &state)
            state.files["/proc/self/uid_map"] = Array("         0       1000          1\n".utf8)
        }
        let inside = try await examine(nil)
        #expect(inside.findings.map(\.kind) == [.missingCapability, .missingCapability] && !inside.isUsable)
        #expect(inside.findings[0].remedy.contains("user namespace"))
    }

    // MARK: - bluetoothd

    @Test func `bluetoothd that scans, or may hold a link, is named`() throws {
        let facts = AdapterFacts(
            number: 0,
            address: BluetoothAddress(rawValue: 0xAA_0100_0000, kind: .public),
            flags: 5,
            features: [0, 0, 0, 0, 0x60, 0, 0, 0]
        )
        var machine = MachineFacts(release: "6.12.41", rights: ProcessRights(of: kernel.kernel))
        var adapter = MachineFacts.Adapter(name: "hci0", kernel: facts, state: .poweredOn)
        adapter.isScannedByBluetoothd = true
        adapter.peers = [.example]
        machine.adapters = [adapter]
        machine.bluetoothd = .here
        let findings = machine.diagnosis.findings
        #expect(findings.map(\.kind) == [.otherScan, .openLinks] && machine.diagnosis.isUsable)
        #expect(findings[0].remedy.contains("the filter of that scan") && findings[0].remedy.contains("scan off"))
        #expect(findings[1].remedy.contains("bluetoothctl disconnect \(BluetoothAddress.example)"))
    }

    @Test func `every finding says what to do, and the most severe comes first`() throws {
        var diagnosis = Diagnosis(system: "Linux")
        for severity in [Diagnosis.Severity.note, .obstacle, .limitation, .obstacle] {
            diagnosis.add(Diagnosis.Finding(.notReady, severity, "hci0", cause: "it starts", remedy: "Wait."))
        }
        #expect(diagnosis.findings.map(\.severity) == [.obstacle, .obstacle, .limitation, .note])
        #expect("\(diagnosis.findings[0])" == "hci0: it starts. Wait.")
    }
}
