import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct PairingRefusalTests {
    private let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    @Test func `beside a bluetoothd that was asked too, its missing agent is named, and what mends it`() {
        let error = BLEError.refusedByBluetoothd(peer)
        #expect(error.code == .securityFailed && error.cause.contains("bluetoothd"))
        #expect(error.cause.contains("no agent") && error.remedy.contains("bluetoothctl -a"))
    }

    @Test func `without one it is the peripheral that has refused`() {
        let error = BLEError.pairingRefused(by: peer)
        #expect(error.code == .securityFailed && error.cause.contains("the peripheral refused"))
        #expect(!error.description.contains("bluetoothd"))
    }
}
