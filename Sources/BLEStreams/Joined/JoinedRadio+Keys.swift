import BLEProtocol
import BLERadio

extension JoinedRadio {
    /// Loads the keys of all bonds into a radio that has come while others are in use, or has come back: it loses them
    /// where it is unplugged or reset, and an attempt to connect that is under way goes on through it.
    func giveKeys(to radio: any Radio) {
        let bonds = choose { chooser, _ in chooser.allBonds }
        if !bonds.isEmpty { unattended({ radio.restore(bonds, result: $0) }, answer: { _ in }) }
    }
}

extension AdapterInfo.State {
    /// Whether keys can be loaded: a kernel takes none for an adapter that it is starting, whose address, by which its
    /// bonds are known, may not be known yet.
    var takesKeys: Bool {
        switch self {
        case .poweredOn, .poweredOff, .blocked: true
        case .unknown, .resetting, .absent, .unauthorized, .unsupported: false
        }
    }
}
