internal import BLEProtocol

/// What the system reports about its adapters, this process and bluetoothd, as far as a diagnosis needs it.
struct MachineFacts: Sendable {
    /// One adapter.
    struct Adapter: Sendable {
        var name: String
        /// What the kernel's list says about it.
        var kernel: AdapterFacts
        /// Whether it can be used, and why not.
        var state: AdapterInfo.State
        /// What blocks it.
        var block: RadioSwitches.Block?
        /// The kernel's answer about the controller; `nil` if it gave none.
        var information: ManagementReadInformation.Response?
        /// Whether the kernel takes no commands for it.
        var isUnknown = false
        /// Its USB device, if it is one.
        var device: USBDevice?
        /// The other adapter with the same address, through which the kernel would connect.
        var rival: String?
        /// The peers that it has links with as the central.
        var peers: [BluetoothAddress] = []
        /// Whether bluetoothd says that it is scanning; `nil` if it said nothing.
        var isScannedByBluetoothd: Bool?
    }

    /// The kernel's release.
    var release: String
    var rights: ProcessRights
    /// Why there is no Bluetooth socket.
    var refusal: SystemError?
    /// The Bluetooth that this program gets no socket of.
    var hidden: HiddenBluetooth?
    /// The adapter that was asked for; `nil` for all.
    var wanted: String?
    /// The adapters that are present and asked for.
    var adapters: [Adapter] = []
    /// The names of those that are not asked for.
    var others: [String] = []
    /// The machine's switch that may be why there is none.
    var cut: RadioSwitches.Cut?
    var bluetoothd = Bluetoothd.Presence.unknown
}

extension MachineFacts {
    /// The diagnosis that follows from the facts.
    var diagnosis: Diagnosis {
        Diagnosis(
            system: "Linux \(release)",
            adapters: adapters.map {
                AdapterInfo(name: $0.name, address: $0.kernel.address, state: $0.state)
            },
            findings: ofTheMachine + ofAdapters
        )
    }

    private var ofTheMachine: [Diagnosis.Finding] {
        var findings: [Diagnosis.Finding] = []
        if let refusal {
            let error = BLEError.noBluetooth(refusal, operation: "diagnose", object: "", hidden: hidden)
            let kind: Diagnosis.Kind = error.code == .permissionDenied ? .socketsRefused : .noBluetooth
            findings.append(Diagnosis.Finding(kind, .obstacle, error))
        } else if adapters.isEmpty {
            let error =
                wanted.map { BLEError.adapterAbsent($0, others: others, operation: "diagnose", object: "", cut: cut) }
                ?? .noAdapter(operation: "diagnose", object: "", cut: cut)
            findings.append(Diagnosis.Finding(error.code == .adapterBlocked ? .blocked : .noAdapter, .obstacle, error))
        }
        for fault in KernelFaults.known(in: release) {
            let remedy = "Install a newer kernel, such as 6.12."
            findings.append(Diagnosis.Finding(.kernelFault, .limitation, "", cause: fault, remedy: remedy))
        }
        return findings + ofTheProcess
    }

    private var ofTheProcess: [Diagnosis.Finding] {
        let uses: [(Capability, Diagnosis.Severity, String)] = [
            (.networkAdministration, .obstacle, "scanning, serving, pairing and switching adapters fail"),
            (.rawNetwork, .limitation, "the times of a link stay unknown"),
        ]
        let missing = uses.filter { rights.has($0.0) == false }
        return missing.enumerated().map { index, use in
            let (capability, severity, consequence) = use
            let cause = "the program lacks the capability \(capability.rawValue.uppercased()), so \(consequence)"
            return Diagnosis.Finding(
                .missingCapability,
                severity,
                rights.program.description,
                cause: cause,
                remedy: rights.remedy(for: capability, behind: missing.prefix(index).map(\.0))
            )
        }
    }

    /// One adapter that works is enough: then the obstacles of the others don't matter.
    private var ofAdapters: [Diagnosis.Finding] {
        let each = adapters.map { $0.findings(besides: bluetoothd) }
        let isOneUsable = each.contains { findings in !findings.contains { $0.severity == .obstacle } }
        return each.flatMap { $0 }.map { isOneUsable ? $0.downgraded(to: .limitation) : $0 }
    }
}

extension MachineFacts.Adapter {
    fileprivate func findings(besides bluetoothd: Bluetoothd.Presence) -> [Diagnosis.Finding] {
        var findings = [obstacle].compactMap { $0 }
        if let signs = CounterfeitSigns.of(information, device), !signs.isEmpty {
            let cause =
                "the controller claims to be made by CSR, but is a counterfeit: \(signs.joined(separator: ", "))"
            let remedy = "If links or scans fail, replace it: such chips drop links and ignore commands."
            findings.append(Diagnosis.Finding(.counterfeit, .limitation, name, cause: cause, remedy: remedy))
        }
        if isScannedByBluetoothd == true {
            let cause = "bluetoothd scans for another program, so this program shares that scan"
            let remedy =
                "If a device isn't found, the filter of that scan, which applies to this program too, may be why: "
                + "end the scan in the program that began it, in bluetoothctl with \"scan off\"."
            findings.append(Diagnosis.Finding(.otherScan, .note, name, cause: cause, remedy: remedy))
        }
        if !peers.isEmpty { findings.append(links(besides: bluetoothd)) }
        return findings
    }

    /// What prevents it from working, if anything does.
    private var obstacle: Diagnosis.Finding? {
        let (operation, object) = ("use", name)
        func finding(_ kind: Diagnosis.Kind, _ error: BLEError) -> Diagnosis.Finding {
            Diagnosis.Finding(kind, .obstacle, error)
        }
        if kernel.isUnconfigured {
            return finding(.notReady, .adapterUnconfigured(name, operation: operation, object: object))
        }
        switch state {
        case .unsupported:
            return finding(.noLowEnergy, .adapterLacksLowEnergy(name, operation: operation, object: object))
        case .blocked:
            return finding(.blocked, .adapterBlocked(name, by: block, operation: operation, object: object))
        case .poweredOff:
            return finding(.poweredOff, .adapterPoweredOff(name, operation: operation, object: object))
        case .unknown, .resetting, .absent, .unauthorized:
            return finding(.notReady, .adapterNotReady(name, operation: operation, object: object))
        case .poweredOn: break
        }
        if isUnknown { return finding(.notReady, .adapterTaken(name, operation: operation, object: object)) }
        if let information, information.supported.contains(.lowEnergy), !information.current.contains(.lowEnergy) {
            return finding(.lowEnergyOff, .lowEnergyIsOff(name, operation: operation, object: object))
        }
        guard let rival else { return nil }
        let error = BLEError.adapterHasTwin(name, rival, kernel.address, operation: operation, object: object)
        return finding(.sharedAddress, error)
    }

    private func links(besides bluetoothd: Bluetoothd.Presence) -> Diagnosis.Finding {
        let names = peers.map(\.description).joined(separator: ", ")
        let holder = bluetoothd == .absent ? "this or another program" : "this program, another one or bluetoothd"
        var remedy = "If a device isn't found or can't be connected to, end the program that holds its link"
        if bluetoothd != .absent, let peer = peers.first { remedy += ", or run \"bluetoothctl disconnect \(peer)\"" }
        return Diagnosis.Finding(
            .openLinks,
            .note,
            name,
            cause: "\(holder) holds \(peers.count == 1 ? "a link" : "links") to \(names)",
            remedy: remedy + "."
        )
    }
}

/// The signs of a counterfeit controller that claims to be by Cambridge Silicon Radio.
///
/// Source: kernel, `drivers/bluetooth/btusb.c`, `btusb_setup_csr`.
enum CounterfeitSigns {
    /// The signs, each in a few words; `nil` if the controller makes no such claim.
    static func of(_ information: ManagementReadInformation.Response?, _ device: USBDevice?) -> [String]? {
        guard device?.vendor == "0a12", device?.product == "0001" else { return nil }
        var signs: [String] = []
        if let information, information.manufacturer != 10 {
            signs.append("its maker's number is \(information.manufacturer), not 10")
        }
        // Genuine controllers with these numbers support at most Bluetooth 4.0.
        if let information, information.bluetoothVersion > 6 { signs.append("it reports a Bluetooth later than 4.0") }
        if let version = device?.version, ["0134", "1915", "2520", "7558"].contains(version) {
            signs.append("its version \(version) is known from copies")
        }
        return signs
    }
}
