import BLEProtocol

@testable import BLELinux

/// Links of Bluetooth Classic on an adapter in dual mode: those of other programs, such as one to a headset.
///
/// They share the handles of a controller with the links of Low Energy.
extension FakeState {
    /// A device makes a link, with the next handle unless one is named; returns the handle.
    ///
    /// No socket of the library hears what the controller reports of that, Connection Complete.
    @discardableResult
    mutating func connectClassic(_ device: UInt64, on number: UInt16, handle named: UInt16? = nil) -> UInt16 {
        let handle = named ?? nextHandle
        if named == nil { nextHandle += 1 }
        let address = ManagementAddress(rawValue: device, kind: .classic)
        adapters[number]?.classicLinks[handle] = address
        tell(number, 0x0B, address.octets + [UInt8](repeating: 0, count: 6))
        return handle
    }

    mutating func endClassic(_ handle: UInt16, of number: UInt16, reason: UInt8 = 3) {
        guard let address = adapters[number]?.classicLinks.removeValue(forKey: handle) else { return }
        tell(number, 0x0C, address.octets + [reason])
        reportDisconnected(handle, of: number)
    }
}
