import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct LinuxAdapterTests {
    /// Whether this machine's kernel has Bluetooth at all.
    static let kernelHasBluetooth = (try? FileDescriptor.hciSocket()) != nil

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

    @Test(.disabled(if: kernelHasBluetooth, "this machine has Bluetooth"))
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

    @Test func `each state of an adapter has an error with a remedy`() {
        let errors: [(BLEError, BLEError.Code, String)] = [
            (.noAdapter(operation: "scan", object: "hci0"), .adapterNotFound, "Plug one in"),
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
                "rfkill unblock bluetooth"
            ),
            (
                .adapterBlocked("hci0", by: .hard, operation: "scan", object: "hci0"), .adapterBlocked,
                "radio switch"
            ),
        ]
        for (error, code, remedy) in errors {
            #expect(error.code == code)
            #expect(error.operation == "scan")
            #expect(error.remedy.contains(remedy))
        }
    }
}
