/// A client's knowledge of a peer's attributes on one link, and the requests that it needs for it: discovery, or trust
/// in a remembered database, and the way back to certainty when the peer reports a change.
///
/// ```
///             want                  the hash is the remembered one
///   unknown ───────► checking ──────────────────────────────────────► known ─┐
///                     ▲   │ another hash, or none                      ▲     │ Service Changed, Database Out Of Sync,
///                     │   ▼                                            │     │ another hash
///                     │ discovering ──► settling ──────────────────────┘     │
///                     │                 (says that it caches, asks to be     │
///                     │                  told, reads the hash once more)     │
///                     ├──────────────────────────────────────────────────────┘
///                  waiting   (the peer says so again and again, see ``ServiceChangeBackoff``)
/// ```
/// A remembered database is used after one request. The requests that confirm it follow only after the program's first
/// request (``operationBegan()``), and the hash is read once more, so that a change in between is noticed too.
///
/// A peer without a hash is trusted to be unchanged if the specification says so: it has no Service Changed, so that
/// its attributes never change, or there is a bond, and it reports a change. The one request then reads the first
/// services, and after the program's first request everything is discovered again: a change made nevertheless, by new
/// firmware, is noticed, and a peer that changed without a way to report it is no longer trusted.
///
/// A value: it outputs requests, whose results are passed back with the number of each. An answer to a withdrawn
/// request is ignored. Source: Core Specification, Vol 3, Part G, 2.5.2.
package struct DatabaseTracker: Sendable {
    /// The value for Client Supported Features: robust caching, and several values in one PDU.
    package static let features: GATTClientFeatures = [.robustCaching, .multipleNotifications]

    /// How often the search begins again before a peer that keeps changing is believed, without remembering its
    /// database.
    static let patience = 4

    enum State: Hashable, Sendable {
        case unknown, waiting, checking, discovering
        case settling(GATTDatabase)
        case known
    }

    /// Why a known database is checked again.
    enum Doubt: Hashable, Sendable {
        /// The peer says that these handles have changed.
        case changed(ClosedRange<UInt16>)
        /// The peer has answered that something may have changed.
        case outOfSync
    }

    /// Whether the peer reports a change that it made while there was no link: it has a bond with this side's adapter.
    let tellsLater: Bool
    var state = State.unknown
    var remembered: RememberedDatabase?
    /// The last database known on this link, the hash of the database known or discovered last, and the hash that was
    /// read before the current discovery.
    var database: GATTDatabase?
    var hash: [UInt8]?
    var nextHash: [UInt8]?
    var doubt: Doubt?
    /// The last database discovered on this link, known or not.
    var found: GATTDatabase?
    /// How often the peer has reported that its services changed.
    var changes = ServiceChangeBackoff()
    /// The wait before the change is checked, and the one after which the peer counts as calm.
    var pause: Int?
    var calm: Int?
    /// The Service Changed characteristic that was last subscribed to.
    var told: Characteristic?
    /// How often the search has begun again.
    var rounds = 0
    /// How many searches in a row a change has cut off, with a wait before the next, since whoever waits was told.
    var cutOffs = 0
    /// Whether the requests that confirm a trusted database wait for the program's first request.
    package internal(set) var mustSettle = false
    /// The reading of the hash, or the discovery, that ends the settling.
    var verification: Int?
    /// The discovery that tells whether something is missing that the program looks for.
    var completion: Int?
    /// The requests whose answers are awaited.
    var open: [Int] = []
    var lastNumber = 0
    /// Whether anything is kept for the next link.
    package internal(set) var hasMemory: Bool
    /// Whether that is the database known now.
    var isMemoryRight = false
    /// Whether that has no hash, which would show on the next link that it is wrong.
    var isMemoryUnproved: Bool
    /// Whether the database has changed without a way to report that, on an earlier link or on this one.
    var mayChange: Bool
    /// Whether nothing may be remembered: the database keeps changing, or has lost its hash.
    var isUnsteady = false
    /// Whether the peer sends no values from a change of its services until this client knows of that, as robust
    /// caching demands.
    var mayWithhold: Bool
    /// How many answers Database Out Of Sync of the peer were believed since its services were last found to be others.
    var believed = 0

    /// - Parameters:
    ///   - remembered: the database that the peer had on its last link.
    ///   - tellsLater: whether it reports a change that it made while there was no link, as a bonded peer does.
    package init(remembered: RememberedDatabase? = nil, tellsLater: Bool = false) {
        self.tellsLater = tellsLater
        self.remembered = remembered
        hasMemory = remembered != nil
        isMemoryUnproved = remembered.map { $0.hash == nil } ?? false
        mayChange = remembered?.mayChange ?? false
        mayWithhold = remembered?.database.hasRobustCaching ?? false
    }

    /// The database, while it may be used.
    package var current: GATTDatabase? { state == .known ? database : nil }

    /// Whether the database in use was remembered, not discovered.
    package internal(set) var isFromMemory = false

    /// Whether a discovery on this link has found the same.
    var isConfirmed = false

    /// Whether the database in use may lack something that the peer has: it is from an earlier link, on which the peer
    /// may have ended the discovery too early, and the peer's hash doesn't prove that it is whole.
    package var mayBeIncomplete: Bool {
        guard state == .known, isFromMemory, !isConfirmed, let database else { return false }
        return hash == nil || database.computedHash() != hash
    }
}

// MARK: - What the driver calls

extension DatabaseTracker {
    /// The program needs the database, which is not known.
    package mutating func want() -> Output {
        var output = Output()
        if state == .unknown { check(&output) }
        return output
    }

    /// A request of the program was queued: the requests that confirm a trusted database may follow it.
    package mutating func operationBegan() -> Output {
        var output = Output()
        guard state == .known, mustSettle, let database else { return output }
        mustSettle = false
        settle(database, &output)
        return output
    }

    /// The program looks for something that the database in use doesn't have, though it may be incomplete: it is
    /// discovered on this link too, before the program is told so.
    package mutating func missed() -> Output {
        var output = Output()
        guard mayBeIncomplete, completion == nil else { return output }
        if hash == nil {
            if mustSettle { output = operationBegan() }
            completion = verification
        }
        if completion == nil { completion = search(.discover, &output) }
        return output
    }

    /// A request was answered. Returns whether the answer is still needed.
    mutating func close(_ number: Int) -> Bool {
        guard let index = open.firstIndex(of: number) else { return false }
        open.remove(at: index)
        if open.isEmpty { open = [] }
        return true
    }

    /// The answer to ``Request/Kind/readHash``; `nil` if the peer has none or doesn't let it be read.
    package mutating func hashRead(_ number: Int, _ result: Result<[UInt8]?, GATTFailure>) -> Output {
        var output = Output()
        guard close(number) else { return output }
        switch result {
        case .failure(let failure):
            if state != .known { fail(failure, &output) }
        case .success(let read) where number == verification:
            verification = nil
            verified(read, &output)
        case .success(let read):
            checked(read, &output)
        }
        return output
    }

    /// The answer to ``Request/Kind/probe``.
    package mutating func probed(_ number: Int, _ result: Result<[GATTService], GATTFailure>) -> Output {
        var output = Output()
        guard close(number) else { return output }
        switch result {
        case .success(let services):
            let first = remembered.map { $0.database.services.filter(\.isPrimary).prefix(services.count) } ?? []
            let isSame =
                !services.isEmpty && first.count == services.count
                && zip(first, services).allSatisfy {
                    $0.uuid == $1.uuid && $0.handle == $1.handle && $0.endHandle == $1.endHandle
                }
            if isSame, let remembered {
                trust(remembered, &output)
            } else {
                if !services.isEmpty { mayChange = true }
                search(.readHash, &output)
            }
        case .failure(.attribute), .failure(.malformedResponse): search(.readHash, &output)
        case .failure(let failure): fail(failure, &output)
        }
        return output
    }

    /// The answer to ``Request/Kind/discover``.
    ///
    /// - Parameter hash: the hash of the discovered database, if it can be computed. If the peer's differs, something
    ///   is missing, as after an error of the peer during discovery, or the peer computes it differently: a database
    ///   that is found twice is right.
    package mutating func discovered(
        _ number: Int,
        _ result: Result<GATTDatabase, GATTFailure>,
        hash computed: [UInt8]? = nil
    ) -> Output {
        var output = Output()
        guard close(number) else { return output }
        if number == verification || number == completion {
            compare(result, number, &output)
            return output
        }
        switch result {
        case .failure(.attribute(.databaseOutOfSync, _)) where rounds < Self.patience:
            outOfSync(&output)
            doubtUnknown(&output)
            check(&output)
        case .failure(let failure):
            fail(failure, &output)
        case .success(let found) where rounds < Self.patience && isDoubtful(found, computed):
            self.found = found
            rounds += 1
            search(.discover, &output)
        case .success(let found):
            hash = nextHash.take()
            if hash != nil, !found.hasHash {
                hash = nil
                isUnsteady = true
            }
            state = .settling(found)
            settle(found, &output)
            // Without a hash there is nothing to wait for.
            if verification == nil { becomeKnown(found, &output) }
        }
        return output
    }

    /// The peer has indicated Service Changed.
    package mutating func serviceChanged(_ range: ClosedRange<UInt16>) -> Output {
        var output = Output()
        // While it keeps reporting changes of services that have not changed, they are used until the next check.
        let mayGoOn = state == .known && changes.isHarmless
        if !mayGoOn { doubtMemory(&output) }
        guard state != .unknown else {
            // It is not searched before somebody needs it, but what was known of it may be in use.
            output.stale = range
            return output
        }
        if case .changed(let earlier)? = doubt {
            doubt = .changed(earlier.union(range))
        } else {
            doubt = .changed(doubt == .outOfSync ? 0x0001...0xFFFF : range)
        }
        endCalm(&output)
        if pause == nil, let delay = changes.delayForNext() {
            if !mayGoOn {
                cutOffs = state == .known ? 0 : cutOffs + 1
                // Whoever asks after this has the same patience.
                if cutOffs > 1, changes.areUnending {
                    output.isRestless = true
                    cutOffs = 0
                }
                withdraw(&output)
                state = .waiting
            }
            pause = search(.wait(delay), &output)
        }
        guard pause == nil || !mayGoOn else { return output }
        output.stale = range
        if pause == nil { check(&output) }
        return output
    }

    /// The peer has indicated Service Changed before the database was asked for; ``serviceChanged(_:)`` is called when
    /// it is known.
    package mutating func willChange() -> Output {
        var output = Output()
        doubtMemory(&output)
        return output
    }

    /// A wait is over.
    package mutating func waited(_ number: Int) -> Output {
        var output = Output()
        guard close(number) else { return output }
        if number == calm {
            calm = nil
            changes = ServiceChangeBackoff()
        } else if number == pause {
            pause = nil
            if state == .known, case .changed(let range)? = doubt { output.stale = range }
            check(&output)
        }
        return output
    }

    /// The peer has answered Database Out Of Sync.
    package mutating func outOfSync() -> Output {
        var output = Output()
        outOfSync(&output)
        switch state {
        case .unknown:
            doubtUnknown(&output)
            check(&output)
        case .known:
            doubt = pause == nil ? .outOfSync : .changed(0x0001...0xFFFF)
            output.stale = 0x0001...0xFFFF
            check(&output)
        case .waiting, .checking, .discovering, .settling: doubtUnknown(&output)
        }
        return output
    }

    /// The peer has answered Database Out Of Sync to what nobody awaits any more. A search that is under way finds
    /// what is different; a peer that answers each search so is not searched for ever.
    package mutating func outOfSyncUnawaited() -> Output {
        if isBelievable, state == .known || state == .unknown { return outOfSync() }
        var output = Output()
        outOfSync(&output)
        return output
    }

    /// Puts all handles in doubt before the database is known: chosen services, or a forgotten database, may be in use.
    /// Later, whatever began the search has done so.
    private func doubtUnknown(_ output: inout Output) {
        if database == nil { output.stale = 0x0001...0xFFFF }
    }

    /// The known and the remembered database must not be used any more.
    package mutating func forget() -> Output {
        var output = Output()
        withdraw(&output)
        let (number, withholds, believed) = (lastNumber, mayWithhold, believed)
        self = DatabaseTracker(tellsLater: tellsLater)
        (lastNumber, mayWithhold, self.believed) = (number, withholds, believed)
        output.memory = .forget
        return output
    }
}
