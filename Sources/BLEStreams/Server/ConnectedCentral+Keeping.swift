import BLEProtocol
import BLERadio
import Synchronization

/// What is stored of a bonded central while it is connected.
///
/// It won't write again what it has configured. So that is stored soon after each change, and not only when the link
/// ends: a program may be killed, and a machine may lose its power.
extension ConnectedCentral {
    /// How long a change may wait: a central configures several characteristics one after the other, and encrypts its
    /// link before or shortly after that.
    private static let delay = Duration.seconds(2)

    /// Stores what it has configured, some time from now.
    func keepSoon(_ server: PeripheralServer) {
        let isFirst = state.withLock { state in
            guard state.end == nil, !state.isKeeping else { return false }
            state.isKeeping = true
            return true
        }
        guard isFirst else { return }
        let timer = bearer.timeline.schedule(after: Self.delay) { [weak self, weak server] in
            guard let server else { return }
            self?.keepNow(server)
        }
        let hasEnded = state.withLock { state in
            // It may be over already.
            if state.end == nil, state.isKeeping { state.keeping = timer }
            return state.end != nil
        }
        if hasEnded { timer.cancel() }
    }

    private func keepNow(_ server: PeripheralServer) {
        let over = state.withLock { state in
            state.isKeeping = false
            return state.keeping.take()
        }
        // It may have encrypted the link without another PDU.
        if bearer.radioLink.security.isEncrypted { bearer.refreshSecurity() }
        withExtendedLifetime(over) { server.keep(self) }
        noteStored(server)
        if !served.isEncrypted { keepOnceEncrypted(server) }
    }

    /// Notes, once it is so, that its file has what it has configured: if the file lacks that later, somebody has
    /// forgotten the central. Nothing else shows it where the bond is another program's.
    private func noteStored(_ server: PeripheralServer) {
        let (isNoted, keepings) = state.withLock { ($0.hasStoredState, $0.keepings) }
        if isNoted { return }
        let (store, identity, adapter) = (server.served.store, identity, bearer.radioLink.local)
        store.whenWritten(on: bearer.timeline) { [weak self] in
            // A change that could not be written is not there, but in memory only.
            guard store.failure(of: identity) == nil, store.record(of: identity).served(at: adapter) != nil else {
                return
            }
            self?.state.withLock { if $0.keepings == keepings { $0.hasStoredState = true } }
        }
    }

    /// Whether it has paired on this link, and the keys that it made last are not kept: it does not bond, or it may not
    /// be who it claims to be, and what it configures is not that of the bonded central.
    var isDisowned: Bool {
        get { state.withLock { $0.isDisowned } }
        set { state.withLock { $0.isDisowned = newValue } }
    }

    /// Whether not all that it had configured before is known on this link, since its file could not be read.
    var isUnread: Bool { state.withLock { $0.isUnread } }

    /// Whether its file has, or has had on this link, a bond with it, and what it has configured.
    var hadStored: (bond: Bool, state: Bool) { state.withLock { ($0.hasStoredBond, $0.hasStoredState) } }

    /// Notes what the store knows of it, before its link is started.
    func begin(with kept: ServedCentrals.Kept, of server: PeripheralServer) {
        note(kept)
        if kept.isUnread { readAgain(server) }
    }

    private func note(_ kept: ServedCentrals.Kept) {
        state.withLock { state in
            state.hasStoredBond = kept.hasStoredBond
            state.hasStoredState = kept.record != nil
            state.isUnread = kept.isUnread
        }
    }

    /// How long to wait before a file that could not be read is read again.
    private static let readingAgain = Duration.seconds(60)

    /// Looks for what it had configured before until its file can be read: a shortage of descriptors passes, and the
    /// link may last for weeks.
    private func readAgain(_ server: PeripheralServer) {
        let timer = bearer.timeline.schedule(after: Self.readingAgain) { [weak self, weak server] in
            guard let self, let server else { return }
            // Released outside the lock.
            let over = self.state.withLock { state in
                defer { state.resuming = [] }
                return state.resuming
            }
            withExtendedLifetime(over) { self.readNow(server) }
        }
        let hasEnded = state.withLock { state in
            if state.end == nil { state.resuming = [timer] }
            return state.end != nil
        }
        if hasEnded { timer.cancel() }
    }

    private func readNow(_ server: PeripheralServer) {
        let local = bearer.radioLink.local
        server.served.read(identity, at: local, on: bearer.timeline) { [weak self, weak server] kept in
            guard let self, let server, self.bearer.end == nil else { return }
            if kept.isUnread { self.readAgain(server) } else { self.adopt(kept, server) }
        }
    }

    /// Goes on with what it had configured before.
    private func adopt(_ kept: ServedCentrals.Kept, _ server: PeripheralServer) {
        bearer.serve { half, database in half.adopt(server.served.recall(kept.record, database)) }
        // From now on all of it is known, and is kept as usual.
        note(kept)
        resume()
        keepSoon(server)
    }

    /// What it has configured is to be stored.
    ///
    /// - Parameter isEmpty: whether that is nothing, so that its file lacks it from then on.
    func willKeep(isEmpty: Bool) {
        state.withLock { state in
            state.keepings += 1
            if isEmpty { state.hasStoredState = false }
        }
    }

    /// Stores it later: nothing is kept without a bond, and a central that configures first may take long to pair,
    /// since a user has to agree. The radio tells of new keys: a central that encrypts the link with an old one is
    /// stored at its next change, or when it leaves.
    private func keepOnceEncrypted(_ server: PeripheralServer) {
        guard state.withLock({ $0.end == nil && $0.encryption == nil }) else { return }
        let observer = bearer.radioLink.observeSecurity { [weak self, weak server] in
            guard let server else { return }
            self?.keepSoon(server)
        }
        let isSuperfluous = state.withLock { state in
            guard state.end == nil, state.encryption == nil else { return true }
            state.encryption = observer
            return false
        }
        if isSuperfluous { return observer.cancel() }
        // Encrypted before it was observed.
        if bearer.radioLink.security.isEncrypted { keepSoon(server) }
    }

    /// The state to keep of it; whether the link is or was encrypted; and what it has configured on this link, where
    /// that is not known of earlier ones.
    var served: (client: ServerClient, isEncrypted: Bool, anew: Set<UInt16>?) {
        let isUnread = isUnread
        return bearer.serve { server, _ in
            (server.client, server.security.isEncrypted, isUnread ? server.configured : nil)
        }
    }
}
