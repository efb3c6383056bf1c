import BLEProtocol

/// The news from outside during a step of a session, which decides the trigger that a failure is.
struct SessionNews: Equatable {
    /// The pause after an adapter has returned: it may refuse its first commands.
    static let adapterRest = Duration.milliseconds(250)

    /// How long the news that an adapter is lost may come behind the errors that this causes.
    static let adapterDelay = Duration.milliseconds(250)

    /// The state of the adapter; `nil` until the radio has reported it.
    var adapter: AdapterInfo.State?
    /// Why the present link ended; `nil` while it is up.
    var linkEnd: DisconnectReason?

    /// The state of the adapter, if it can't be used.
    var unusableAdapter: AdapterInfo.State? { adapter.flatMap { $0 == .poweredOn ? nil : $0 } }

    /// The trigger for a failed step without a link, or for the loss of the adapter if that is the cause.
    func trigger(for error: BLEError, or trigger: SessionState.Trigger) -> SessionState.Trigger {
        awayAdapter(because: error).map { .adapterLost($0) } ?? trigger
    }

    /// The trigger for a failure on a link, or for the end of the link or the loss of the adapter if that is the cause.
    /// A subscription that was refused leaves the link as it is, whether it is up or has ended.
    func trigger(forFailureOnLink error: BLEError, or trigger: SessionState.Trigger) -> SessionState.Trigger {
        if let adapter = awayAdapter(because: error) { return .adapterLost(adapter) }
        if error.endsLink, let reason = error.reason { return .linkLost(reason) }
        // It says why the link could not be made secure, and what to do, also if that has ended the link.
        if error.code == .securityFailed, trigger.kind != .subscriptionRefused { return trigger }
        return linkEnd.map { .linkLost($0) } ?? trigger
    }

    /// The trigger for the end of a link while the session was ready.
    func trigger(forEnd reason: DisconnectReason) -> SessionState.Trigger {
        reason.kind == .adapterOff ? .adapterLost(unusableAdapter ?? .poweredOff) : .linkLost(reason)
    }

    /// The trigger that ends the wait for an adapter; `nil` if nothing has changed.
    ///
    /// - Parameter state: the state of the adapter when the wait began.
    func trigger(forAdapterThatWas state: AdapterInfo.State) -> SessionState.Trigger? {
        switch adapter {
        case .poweredOn?: .adapterReturned
        case nil, state?: nil
        case let other?: .adapterLost(other)
        }
    }

    /// The state of the adapter, if it is the cause of a failure.
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
