internal import BLEProtocol

extension LinuxAdapter {
    /// Whether it has made a link that the kernel reports, for any program, rather than the peer. Linux before 5.14
    /// doesn't report that: its list of links shows it.
    func hasMade(_ connected: ManagementDeviceConnected) -> Bool {
        if connected.flags.contains(.initiatedHere) { return true }
        guard let peer = connected.address.lowEnergy else { return false }
        return peers(asCentral: true).contains { $0.rawValue == peer.rawValue }
    }
}
