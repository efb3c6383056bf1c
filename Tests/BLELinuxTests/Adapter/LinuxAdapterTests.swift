import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct LinuxAdapterTests {
    /// Whether this machine's kernel has Bluetooth at all.
    static let kernelHasBluetooth = (try? FileDescriptor.hciSocket(of: .ofThisMachine)) != nil

    @Test(
        arguments: [
            ("hci0", 0), ("hci12", 12), ("hci65534", 65534), ("hci65535", nil), ("hci65536", nil), ("hci", nil),
            ("hci00", nil),
            ("hci01", nil), ("hci-1", nil), ("hci 1", nil), ("HCI0", nil), ("0", nil), ("", nil), ("wlan0", nil),
            ("hci٣", nil),
        ] as [(String, UInt16?)]
    )
    func `reads adapters' names and nothing else`(_ name: String, _ number: UInt16?) {
        #expect(LinuxAdapter.number(in: name) == number)
    }

    /// Whether the kernel has Bluetooth that this process is kept from.
    static let isHidden = HiddenBluetooth(.addressFamilyNotSupported, on: .ofThisMachine) != nil

    @Test(.disabled(if: kernelHasBluetooth || isHidden, "this machine has Bluetooth"))
    func `a machine without Bluetooth in its kernel says so, and what to do`() {
        for name in [nil, "hci0"] {
            do {
                _ = try LinuxRadio(adapter: name)
                Issue.record("opened")
            } catch {
                #expect(error.code == .unsupportedSystem)
                #expect(error.operation == "open")
                #expect(error.remedy.contains("modprobe bluetooth"))
                #expect(error.remedy.contains("network"))
                #expect(error.systemError != nil)
            }
        }
    }

    @Test(.enabled(if: kernelHasBluetooth, "this machine's kernel has no Bluetooth"))
    func `a malformed name says how adapters are called`() {
        do {
            _ = try LinuxRadio(adapter: "wlan0")
            Issue.record("opened")
        } catch {
            #expect(error.code == .invalidArgument)
            #expect(error.object.contains("wlan0"))
            #expect(error.remedy.contains("hci0"))
        }
    }

    /// An adapter that is on, or off.
    private func listed(_ number: UInt16, _ address: UInt64, isUp: Bool = true) -> AdapterFacts {
        let address = BluetoothAddress(rawValue: address, kind: .public)
        return AdapterFacts(number: number, address: address, flags: isUp ? 1 : 0, features: [])
    }

    @Test func `of two adapters with one address the kernel takes the first in its list that is on`() {
        let (mine, twin) = (listed(0, 0xF0), listed(1, 0xF0))
        #expect(LinuxAdapter.rival(of: mine, among: [twin, mine]) == twin)
        #expect(LinuxAdapter.rival(of: mine, among: [mine, twin]) == nil)
        #expect(LinuxAdapter.rival(of: mine, among: [listed(1, 0xF0, isUp: false), mine]) == nil)
        #expect(LinuxAdapter.rival(of: mine, among: [listed(1, 0xF1), mine]) == nil)
        // Controllers without an address of their own are not alike.
        #expect(LinuxAdapter.rival(of: listed(0, 0), among: [listed(1, 0), listed(0, 0)]) == nil)
    }

    @Test func `a session does not wait for two adapters to have different addresses`() {
        let address = BluetoothAddress(rawValue: 0xF0, kind: .public)
        let error = BLEError.adapterHasTwin("hci0", "hci1", address, operation: "connect", object: "hci0")
        // A code that is final: nothing that passes by itself.
        #expect(error.code == .notSupported)
        #expect(error.cause.contains("through hci1") && error.remedy.contains("Switch hci1 off"))
    }

    @Test func `a session waits for Low Energy to be switched on again, as for the adapter`() {
        #expect(!BLEError.lowEnergyIsOff("hci0", operation: "connect", object: "hci0").isFinal)
        #expect(!BLEError.adapterPoweredOff("hci0", operation: "connect", object: "hci0").isFinal)
        #expect(BLEError.adapterLacksLowEnergy("hci0", operation: "connect", object: "hci0").isFinal)
    }

    @Test func `each state of an adapter has an error with a remedy`() {
        let errors: [(BLEError, BLEError.Code, String)] = [
            (.noAdapter(operation: "scan", object: "hci0"), .adapterNotFound, "Plug one in"),
            (.noAdapter(operation: "scan", object: "hci0"), .adapterNotFound, "sudo dmesg"),
            (
                .adapterAbsent("hci7", others: ["hci0", "hci1"], operation: "scan", object: "hci7"), .adapterNotFound,
                "hci0, hci1"
            ),
            (
                .adapterPoweredOff("hci0", operation: "scan", object: "hci0"), .adapterPoweredOff,
                "bluetoothctl power on"
            ),
            (
                .adapterBlocked("hci0", by: .soft, operation: "scan", object: "hci0"), .adapterBlocked,
                "sudo rfkill unblock bluetooth"
            ),
            (
                .adapterBlocked("hci0", by: .hard, operation: "scan", object: "hci0"), .adapterBlocked,
                "radio switch"
            ),
            (.adapterLacksLowEnergy("hci0", operation: "scan", object: "hci0"), .notSupported, "Bluetooth 4.0"),
            (.adapterNotReady("hci0", operation: "scan", object: "hci0"), .adapterNotReady, "unplug it"),
        ]
        for (error, code, remedy) in errors {
            #expect(error.code == code)
            #expect(error.operation == "scan")
            #expect(error.remedy.contains(remedy))
        }
    }

    @Test func `a remedy's command for the kernel names the adapter, and asks for the rights that it takes`() {
        let errors: [BLEError] = [
            .adapterPoweredOff("hci3", operation: "scan", object: "hci3"),
            .adapterUnconfigured("hci3", operation: "scan", object: "hci3"),
            .lowEnergyIsOff("hci3", operation: "scan", object: "hci3"),
            .noFreeInstance(5, "hci3"),
        ]
        for error in errors {
            #expect(error.remedy.contains("\"sudo btmgmt --index hci3 "), "\(error.remedy)")
        }
    }

    /// Facts of an adapter in a state of the kernel's: `HCI_UP` is bit 0, `HCI_INIT` bit 1, `HCI_RUNNING` bit 2.
    private static func facts(_ flags: UInt32, _ features: [UInt8]) -> AdapterFacts {
        let address = BluetoothAddress(rawValue: 0x00AA_0101_0001, kind: .public)
        return AdapterFacts(number: 0, address: address, flags: flags, features: features)
    }

    private static let lowEnergy: [UInt8] = [0, 0, 0, 0, 0x60, 0, 0, 0]
    private static let classicOnly: [UInt8] = [0xFF, 0xFF, 0x8F, 0xFE, 0x9B, 0xFF, 0x59, 0x87]
    private static let untold = [UInt8](repeating: 0, count: 8)

    @Test(
        arguments: [
            (nil, false, .absent), (nil, true, .absent),
            (facts(0b101, lowEnergy), false, .poweredOn), (facts(0b101, lowEnergy), true, .poweredOn),
            (facts(0, lowEnergy), false, .poweredOff), (facts(0, lowEnergy), true, .blocked),
            (facts(0b101, classicOnly), false, .unsupported), (facts(0, classicOnly), true, .unsupported),
            // It is being set up, or has not been yet.
            (facts(0b110, untold), false, .unknown), (facts(0, untold), false, .unknown),
            (facts(0, untold), true, .blocked),
            // The kernel starts it, or has had it start afresh and waits for the answer.
            (facts(0b110, lowEnergy), false, .resetting), (facts(0b101 | 1 << 9, lowEnergy), false, .resetting),
        ] as [(AdapterFacts?, Bool, AdapterInfo.State)]
    )
    func `the kernel's facts make the state`(_ facts: AdapterFacts?, _ isBlocked: Bool, _ state: AdapterInfo.State) {
        #expect(AdapterInfo.State(facts, isBlocked: { isBlocked }) == state)
    }

    @Test func `an adapter that the system keeps from this program is unauthorized, other failures say nothing`() throws
    {
        for error in [SystemError.notPermitted, .accessDenied] {
            let adapter = try LinuxAdapter("hci0", socket: nil, refusal: error)
            #expect(adapter.info.state == .unauthorized)
            let failure = adapter.whyUnusable(for: "scan", object: "hci0")
            #expect(failure.code == .permissionDenied && failure.remedy.contains("AF_BLUETOOTH"))
        }
        let broken = try LinuxAdapter(nil, socket: nil, refusal: .inputOutput)
        #expect(broken.info.state == .unknown && broken.name == "no adapter")
        #expect(broken.whyUnusable(for: "scan", object: "").code == .adapterNotReady)
    }

    @Test func `where none is named one is taken that is on and fit for Low Energy, as far as there is such a one`() {
        func number(_ present: AdapterFacts...) -> UInt16? {
            LinuxAdapter.choice(
                of: present.enumerated().map { number, facts in
                    var facts = facts
                    facts.number = UInt16(number)
                    return facts
                }
            )?.number
        }
        let (on, off) = (Self.facts(0b101, Self.lowEnergy), Self.facts(0, Self.lowEnergy))
        let classic = Self.facts(0b101, Self.classicOnly)
        #expect(number() == nil && number(classic) == 0 && number(classic, off) == 1 && number(classic, off, on) == 2)
        #expect(number(off, on) == 1 && number(on, on) == 0)
    }
}
