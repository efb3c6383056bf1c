import BLEProtocol
public import BLERadio
import Synchronization

extension Link {
    /// Pairs with the peripheral where that is needed, so that the link is encrypted when it returns.
    ///
    /// It asks nobody: what the specification calls Just Works, which protects from listeners, and not from somebody
    /// who stands between the two devices while they pair. The keys are kept in the central's ``PeerStore``; later
    /// links to this peripheral are encrypted with them before ``Peripheral/withLink(timeout:parameters:_:)`` hands them out.
    /// Where the link is encrypted already nothing is done.
    ///
    /// Pairing takes the capability `CAP_NET_ADMIN`. Cancellation ends it. Source: Core Specification, Vol 3, Part H, 2.
    ///
    /// - Parameter timeout: how long it may take; the Security Manager gives each step 30 s.
    /// - Throws: ``BLEError/Code/securityFailed`` when the peripheral refuses or its keys don't fit,
    ///   ``BLEError/Code/permissionDenied``, ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``,
    ///   ``BLEError/Code/notSupported`` where the radio can't pair, `CancellationError`.
    public func pair(timeout: Duration = .seconds(60)) async throws {
        guard !security.isEncrypted else { return }
        let (radio, address) = (peripheral.core.radio, peripheral.address)
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: "pair", object: "with \(address)") }
        // Only an adapter that was given its list, be it empty, takes the identity of a peer with a private address. What
        // is wrong with that the pairing itself tells.
        let core = peripheral.core
        try await reply(on: timeline) { finish in
            core.restoreAllBonds { _ in finish(.success(())) }
        }
        let limit: @Sendable () -> any Error = {
            BLEError.timedOut("pair", object: "with \(address)", after: timeout, waitingFor: "pairing did not end")
        }
        let bond: Bond? = try await reply(on: timeline, limit: (timeout, limit)) { finish in
            let activity = radio.pair(with: address) { finish($0.mapError { $0 as any Error }) }
            return { activity.cancel() }
        }
        if let bond {
            core.remember(bond)
            // A program may end right behind this, and the peripheral has its part of the bond already.
            await core.store.flush(on: timeline)
        }
        try await encrypt(operation: "pair", timeout: timeout)
    }

    private func encrypt(operation: String, timeout: Duration) async throws {
        // A bond is kept, and removed, under the identity.
        let address = peripheral.address
        let identity = await peripheral.core.findIdentity(of: address)
        let object = "with \(address)" + (identity == address ? "" : ", which is \(identity)")
        let limit: @Sendable () -> any Error = { BLEError.keysDoNotFit(operation: operation, object: object) }
        try await reply(on: timeline, limit: (timeout, limit)) { finish in
            self.bearer.radioLink.encrypt { finish($0.mapError { $0 as any Error }) }
            return {}
        }
    }

    /// How long the encryption with the keys of a bond may take: it is a matter of some connection events.
    private static let encryptionTime = Duration.seconds(10)

    /// Encrypts the link where there is a bond with the peripheral; calls back, at once or later, exactly once.
    ///
    /// - Parameter keysNotRestored: why the adapter could not be given the keys, where it could not.
    func protect(
        keysNotRestored: BLEError?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        guard
            let local = bearer.radioLink.local,
            keptBonds.contains(where: { $0.adapter == local })
        else { return result(.success(())) }
        let object = "to \(peripheral)"
        let failure: @Sendable () -> BLEError = {
            keysNotRestored.map { .keysNotRestored(object: object, because: $0) }
                ?? .keysDoNotFit(operation: "connect", object: object)
        }
        let waiting = Mutex<(@Sendable (Result<Void, BLEError>) -> Void)?>(result)
        let timer = timeline.schedule(after: Self.encryptionTime) {
            waiting.withLock { $0.take() }?(.failure(failure()))
        }
        bearer.radioLink.encrypt { outcome in
            timer.cancel()
            waiting.withLock { $0.take() }?(outcome.mapError { _ in failure() })
        }
    }
}

extension CentralCore {
    /// The bonds with a peer, of all adapters. Reads a file: not for the radio's thread.
    func bonds(with peer: BluetoothAddress) -> [Bond] {
        store.record(of: peer).bonds(with: peer)
    }

    /// Who is behind a private address, where there is a bond that can tell; else the address itself. Reads files.
    func identity(of address: BluetoothAddress) -> BluetoothAddress {
        guard address.subkind == .resolvablePrivate else { return address }
        let bond = store.peers().lazy.flatMap { self.bonds(with: $0) }
            .first { $0.identityKey?.resolves(address) == true }
        return bond?.peer ?? address
    }

    /// The same, read where files may be read.
    func findIdentity(of address: BluetoothAddress) async -> BluetoothAddress {
        guard address.subkind == .resolvablePrivate else { return address }
        return await withCheckedContinuation { continuation in
            store.perform(on: timeline) { continuation.resume(returning: self.identity(of: address)) }
        }
    }

    func remember(_ bond: Bond) {
        let adapter = "\(bond.adapter)/\(bond.adapter.kind.rawValue)"
        store.update(bond.peer) { record in
            record.bonds = (record.bonds ?? []).filter { $0.adapter != adapter } + [BondRecord(bond)]
        }
    }

    /// Gives the radio the keys of all bonds; calls back, later, with what went wrong, unless it is undone before.
    ///
    /// - Returns: what undoes it.
    func restoreAllBonds(_ result: @escaping @Sendable (BLEError?) -> Void) -> @Sendable () -> Void {
        let activity = LateActivity()
        store.perform(on: timeline) {
            let bonds = self.store.peers().flatMap { self.bonds(with: $0) }
            activity.begin {
                self.radio.restore(bonds) { outcome in
                    if case .failure(let error) = outcome { result(error) } else { result(nil) }
                }
            }
        }
        return { activity.cancel() }
    }
}

/// An activity of the radio that begins later, if it hasn't been cancelled by then.
private final class LateActivity: Sendable {
    private let state = Mutex<(activity: RadioActivity?, isCancelled: Bool)>((nil, false))

    func begin(_ start: () -> RadioActivity) {
        guard !state.withLock({ $0.isCancelled }) else { return }
        let activity = start()
        let isCancelled = state.withLock { state in
            state.activity = activity
            return state.isCancelled
        }
        if isCancelled { activity.cancel() }
    }

    func cancel() {
        let activity = state.withLock { state in
            state.isCancelled = true
            return state.activity.take()
        }
        activity?.cancel()
    }
}

extension PeerRecord {
    /// The bonds with the peer, of all adapters.
    func bonds(with peer: BluetoothAddress) -> [Bond] { (bonds ?? []).compactMap { $0.bond(with: peer) } }
}

extension Central {
    /// The bonds that this library has made and kept, in the order of the peers' addresses; of all adapters.
    ///
    /// Bonds that bluetoothd has made are not among them. Reads files, so ask elsewhere than on ``executor``.
    public var bonds: [Bond] { core.store.peers().flatMap { core.bonds(with: $0) } }
}

extension Peripheral {
    /// The bond with it that this central's adapter has, made by this library; `nil` where there is none.
    ///
    /// A peripheral that was paired with under a private address is kept under its identity, which is the bond's
    /// ``Bond/peer``; it is found under any private address that the peripheral makes of it. Reads files, so ask elsewhere
    /// than on ``Central/executor``.
    public var bond: Bond? {
        let local = core.radio.adapterInfo.address
        return identities.flatMap { core.bonds(with: $0) }.first { local == nil || $0.adapter == local }
    }

    /// Whether there is a bond with it, made by this library with any adapter of this machine. Reads a file, so ask elsewhere
    /// than on ``Central/executor``.
    public var isBonded: Bool { identities.contains { !core.bonds(with: $0).isEmpty } }

    /// The addresses under which it may be kept: its own, or the identity behind a private one.
    private var identities: [BluetoothAddress] { ([address] + alternatives).map { core.identity(of: $0) } }

    /// Removes what this machine keeps of bonds with the peripheral (under its identity, where its address is a private
    /// one), has the adapter forget its key, and drops a link to
    /// it. The peripheral keeps its part until somebody removes it there.
    ///
    /// - Parameter timeout: how long the adapter may take to answer.
    /// - Throws: ``BLEError/Code/notFound`` where there is no bond; ``BLEError/Code/permissionDenied``,
    ///   ``BLEError/Code/timedOut``, an error of the adapter; `CancellationError`.
    public func unpair(timeout: Duration = .seconds(10)) async throws {
        var hadBond = false
        let (radio, object) = (core.radio, "from \(self)")
        var identities: [BluetoothAddress] = []
        for address in [address] + alternatives { identities.append(await core.findIdentity(of: address)) }
        for address in identities {
            let limit: @Sendable () -> any Error = {
                BLEError.timedOut("unpair", object: object, after: timeout, waitingFor: "the adapter did not answer")
            }
            let hadKey: Bool = try await reply(on: core.timeline, limit: (timeout, limit)) { finish in
                let activity = radio.unpair(address) { finish($0.mapError { $0 as any Error }) }
                return { activity.cancel() }
            }
            let core = core
            let isKept: Bool = await withCheckedContinuation { continuation in
                core.store.perform(on: core.timeline) {
                    continuation.resume(returning: !core.bonds(with: address).isEmpty)
                }
            }
            hadBond = hadBond || hadKey || isKept
            core.store.update(address) { $0.bonds = nil }
        }
        await core.store.flush(on: core.timeline)
        guard hadBond else { throw BLEError.noBond(object: object) }
    }
}

extension BLEError {
    fileprivate static func keysDoNotFit(operation: String, object: String) -> BLEError {
        BLEError(
            .securityFailed,
            operation: operation,
            object: object,
            cause: "the link could not be encrypted: the peripheral no longer has the keys of the bond",
            remedy: "Remove the bond with Peripheral.unpair(), then pair again."
        )
    }

    fileprivate static func keysNotRestored(object: String, because error: BLEError) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "connect",
            object: object,
            cause:
                "the link could not be encrypted, since the adapter could not be given the bond's keys: \(error.cause)",
            remedy: error.remedy
        )
    }

    fileprivate static func noBond(object: String) -> BLEError {
        BLEError(
            .notFound,
            operation: "unpair",
            object: object,
            cause: "there is no bond with it",
            remedy: "List the bonds with Central.bonds."
        )
    }
}
