internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    /// The kernel makes better keys when a level is requested that the current keys don't reach.
    func raise(
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        let now = security
        let end = state.withLock { state -> DisconnectReason? in
            guard state.socket != nil, !state.phase.isOver else { return state.reasonOfEnd }
            state.securityCeiling = now
            state.isRaising = true
            return nil
        }
        if let end {
            // The kernel would look for the peer anew.
            let sink = EventSink(result)
            loop.enqueue { [peer] in sink.finish(.failure(.endedWhilePairing(with: peer, end))) }
            return RadioActivity { sink.close() }
        }
        let pairing = environment.pairAnew(with: kernelPeer, to: level, asking: interview) { [weak self] outcome in
            self?.state.withLock { state in
                state.isRaising = false
                if case .success = outcome { state.securityCeiling = nil }
            }
            result(outcome)
        }
        return RadioActivity { [weak self] in
            pairing.cancel()
            self?.state.withLock { $0.isRaising = false }
        }
    }

    func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        environment.observeKeys(of: kernelPeer, changed)
    }
}
