import BLEProtocol
import BLERadio

/// What has arrived from outside while a session was at a step, and which trigger a failure is in the light of it.
struct SessionNews: Equatable {
    /// For how long an adapter that is back is left alone: it may refuse its first commands.
    static let adapterRest = Duration.milliseconds(250)

    /// What the adapter is; `nil` before the radio has said it.
    var adapter: AdapterInfo.State?
    /// Why the present link ended; `nil` while it is up.
    var linkEnd: DisconnectReason?

    /// What the adapter is, where it can't be used.
    var unusableAdapter: AdapterInfo.State? { adapter.flatMap { $0 == .poweredOn ? nil : $0 } }

    /// The trigger for a step without a link that failed, or for the adapter's loss, where that is what lies behind.
    func trigger(for error: BLEError, or trigger: SessionState.Trigger) -> SessionState.Trigger {
        awayAdapter(because: error).map { .adapterLost($0) } ?? trigger
    }

    /// The trigger for a failure on a link, or that for the end of the link or the adapter's loss, where that is what lies
    /// behind.
    func trigger(forFailureOnLink error: BLEError, or trigger: SessionState.Trigger) -> SessionState.Trigger {
        if let adapter = awayAdapter(because: error) { return .adapterLost(adapter) }
        if error.code == .disconnected, let reason = error.reason { return .linkLost(reason) }
        return linkEnd.map { .linkLost($0) } ?? trigger
    }

    /// The trigger for a link that has ended while the session was ready.
    func trigger(forEnd reason: DisconnectReason) -> SessionState.Trigger {
        reason.kind == .adapterOff ? .adapterLost(unusableAdapter ?? .poweredOff) : .linkLost(reason)
    }

    /// The trigger that ends the wait for an adapter; `nil` where nothing has changed.
    ///
    /// - Parameter state: what the adapter was when the wait began.
    func trigger(forAdapterThatWas state: AdapterInfo.State) -> SessionState.Trigger? {
        switch adapter {
        case .poweredOn?: .adapterReturned
        case nil, state?: nil
        case let other?: .adapterLost(other)
        }
    }

    /// What the adapter is, where that is what lies behind a failure.
    private func awayAdapter(because error: BLEError) -> AdapterInfo.State? {
        if let unusableAdapter { return unusableAdapter }
        switch error.code {
        case .adapterPoweredOff: return .poweredOff
        case .adapterBlocked: return .blocked
        case .adapterNotFound: return .absent
        case .adapterNotReady: return .resetting
        default: return error.reason?.kind == .adapterOff ? .poweredOff : nil
        }
    }
}
