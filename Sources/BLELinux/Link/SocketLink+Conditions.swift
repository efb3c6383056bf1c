internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) {
        let socket = state.withLock { $0.socket }
        let handle = try? socket?.descriptor.connectionHandle()
        let phys = try? socket?.descriptor.connectionPHYs()
        environment.readConditions(of: kernelPeer, handle: handle) { conditions in
            var conditions = conditions
            conditions.addPHYs(ofSocket: phys ?? 0)
            result(conditions)
        }
    }

    func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity {
        guard let handle = try? state.withLock({ $0.socket })?.descriptor.connectionHandle() else {
            return RadioActivity {}
        }
        return environment.observeConditions(handle: handle) { [weak self] in self?.readConditions(events) }
    }

    func request(_ parameters: ConnectionParameters, _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let handle = try? state.withLock { $0.socket }?.descriptor.connectionHandle()
        environment.request(parameters, for: kernelPeer, handle: handle, result)
    }
}

extension LinkConditions {
    /// Adds the PHYs that a socket reports, if nothing better is known.
    ///
    /// If a socket names several, they are the ones that the kernel would like, or it is the coded one: kernels up to
    /// 6.18 confuse numbers and bits. Only a single PHY is trusted. Source: kernel, `hci_conn_get_phy`.
    mutating func addPHYs(ofSocket bits: UInt32) {
        sendingPHY = sendingPHY ?? Self.phy(bits, le1M: 1 << 9, le2M: 1 << 11, leCoded: 1 << 13)
        receivingPHY = receivingPHY ?? Self.phy(bits, le1M: 1 << 10, le2M: 1 << 12, leCoded: 1 << 14)
    }

    private static func phy(_ bits: UInt32, le1M: UInt32, le2M: UInt32, leCoded: UInt32) -> PHY? {
        switch bits & (le1M | le2M | leCoded) {
        case le1M: .le1M
        case le2M: .le2M
        case leCoded: .leCoded
        default: nil
        }
    }
}
