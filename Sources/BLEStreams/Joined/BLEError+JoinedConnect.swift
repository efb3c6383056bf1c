import BLEProtocol
import CLibrary

extension BLEError {
    /// Whether the controller supports no more connections than it has: Memory Capacity Exceeded, Connection Limit
    /// Exceeded, Limited Resources (Core Specification, Vol 1, Part F, 2.7, 2.9, 2.13), or the kernel's errors for
    /// them.
    ///
    /// - Parameter hasLinks: whether the adapter has links: a refusal may have other reasons too.
    func saysThatSlotsAreTaken(hasLinks: Bool) -> Bool {
        guard code == .connectionFailed || code == .systemFailure else { return false }
        switch reason?.hciStatus {
        case 0x07?, 0x09?, 0x0D?: return true
        default: break
        }
        switch systemError {
        case EMLINK?, ENOMEM?: return true
        case ECONNREFUSED?: return hasLinks
        default: return false
        }
    }

    /// A refusal for want of a slot, where no other joined adapter can connect: these have no slot either, and to join
    /// several is no remedy.
    ///
    /// - Parameters:
    ///   - adapters: the names of those without a slot.
    ///   - isBonded: whether no other adapter may connect to the peripheral.
    func ofFull(_ adapters: [String], isBonded: Bool) -> BLEError {
        var error = self
        let names = adapters.joined(separator: " and ")
        if adapters.count > 1 { error.cause = "\(names) have no free connection slot" }
        error.remedy =
            isBonded
            ? "Close another link of \(names): the bond with the peripheral belongs there."
            : "Close another link, or use one more adapter."
        return error
    }

    /// Whether the adapter connects to no peer, though it is on: Low Energy is off there, another one has its address,
    /// the program may not use it, or another program has it for itself, so that the kernel has no adapter for a link.
    var isOfUnfitAdapter: Bool {
        switch code {
        case .notSupported, .permissionDenied, .unsupportedSystem: true
        case .busy: systemError == EHOSTUNREACH
        default: false
        }
    }

    static func bondIsElsewhere(_ peer: BluetoothAddress, _ adapters: [String]) -> BLEError {
        BLEError(
            .connectionFailed,
            operation: "connect",
            object: "\(peer)",
            cause: "the bond with it belongs to \(adapters.joined(separator: " and ")), which can't be used now",
            // An adapter that is off keeps its keys, and removes none.
            remedy: "Switch that adapter on, or plug it in. To do without it, unplug it and pair again through another "
                + "one: Peripheral.unpair(), then Link.pair()."
        )
    }
}
