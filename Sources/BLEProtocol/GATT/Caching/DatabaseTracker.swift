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
    /// What is written to Client Supported Features: tell me when I am wrong, and I take several values in one PDU.
    package static let features: GATTClientFeatures = [.robustCaching, .multipleNotifications]

    /// A peer that never comes to rest is believed in the end, and nothing of it is remembered.
    static let patience = 4

    enum State: Hashable, Sendable {
        case unknown, waiting, checking, discovering
        case settling(GATTDatabase)
        case known
    }

    /// Why what was known is looked at again.
    enum Doubt: Hashable, Sendable {
        /// The peer says that these handles have changed.
        case changed(ClosedRange<UInt16>)
        /// The peer has answered that something may have.
        case outOfSync
    }

    /// Whether the peer tells of a change that it made while there was no link: there is a bond with it.
    let tellsLater: Bool
    var state = State.unknown
    var remembered: RememberedDatabase?
    /// What was known last on this link, the hash of what is known or was discovered last, and the one that was read before
    /// the discovery that is under way.
    var database: GATTDatabase?
    var hash: [UInt8]?
    var nextHash: [UInt8]?
    var doubt: Doubt?
    /// What was discovered last on this link, known or not.
    var found: GATTDatabase?
    /// How often the peer has said that its services changed.
    var changes = ServiceChangeBackoff()
    /// The wait before it is looked what has changed, and the one after which the peer counts as calm.
    var pause: Int?
    var calm: Int?
    /// Where Service Changed was asked for last.
    var told: Characteristic?
    /// How often the search has begun anew.
    var rounds = 0
    /// Whether what settles a trusted database waits for the program's first request.
    package internal(set) var mustSettle = false
    /// The reading of the hash that ends the settling.
    var verification: Int?
    /// The searches whose answers are awaited.
    var open: [Int] = []
    var lastNumber = 0
    /// Whether anything is kept for the next link.
    package internal(set) var hasMemory: Bool
    /// Whether that is what is known now.
    var isMemoryRight = false
    /// Whether it has changed though it has no way to say so, on an earlier link or on this one.
    var mayChange: Bool
    /// Whether nothing of it is to be remembered: it changes without rest, or has lost its hash.
    var isUnsteady = false

    /// - Parameters:
    ///   - remembered: what the peer offered when it was met last.
    ///   - tellsLater: whether it tells of a change that it made while there was no link, as to whom it has a bond with.
    package init(remembered: RememberedDatabase? = nil, tellsLater: Bool = false) {
        self.tellsLater = tellsLater
        self.remembered = remembered
        hasMemory = remembered != nil
        mayChange = remembered?.mayChange ?? false
    }

    /// The database, while it may be used.
    package var current: GATTDatabase? { state == .known ? database : nil }

    /// Whether the database in use was remembered, not discovered.
    package internal(set) var isFromMemory = false
}

// MARK: - What the driver calls

extension DatabaseTracker {
    /// Somebody wants to know the database, which is not known.
    package mutating func want() -> Output {
        var output = Output()
        if state == .unknown { check(&output) }
        return output
    }

    /// A request of the program was put in the queue: what settles a trusted database may follow it.
    package mutating func operationBegan() -> Output {
        var output = Output()
        guard state == .known, mustSettle, let database else { return output }
        mustSettle = false
        settle(database, &output)
        return output
    }

    /// A request is answered; whether it still was to be.
    mutating func close(_ number: Int) -> Bool {
        guard let index = open.firstIndex(of: number) else { return false }
        open.remove(at: index)
        if open.isEmpty { open = [] }
        return true
    }

    /// The answer to ``Request/Kind/readHash``; `nil` where the peer has none or doesn't tell.
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
    /// - Parameter hash: that of what was found, where it can be computed. Where the peer has another one something is missing,
    ///   as after an error of its own in the middle, or it counts otherwise: what is found twice is right.
    package mutating func discovered(
        _ number: Int,
        _ result: Result<GATTDatabase, GATTFailure>,
        hash computed: [UInt8]? = nil
    ) -> Output {
        var output = Output()
        guard close(number) else { return output }
        if number == verification {
            verification = nil
            if case .success(let found) = result, found != database { surprised(&output) }
            return output
        }
        switch result {
        case .failure(.attribute(.databaseOutOfSync, _)) where rounds < Self.patience:
            check(&output)
        case .failure(let failure):
            fail(failure, &output)
        case .success(let found)
        where computed != nil && nextHash != nil && computed != nextHash && found != self.found
            && rounds < Self.patience:
            self.found = found
            rounds += 1
            search(.discover, &output)
        case .success(let found):
            hash = nextHash.take()
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
        guard state != .unknown else { return output }
        if case .changed(let earlier)? = doubt {
            doubt = .changed(earlier.union(range))
        } else {
            doubt = .changed(doubt == .outOfSync ? 0x0001...0xFFFF : range)
        }
        endCalm(&output)
        // While it keeps saying so of services that have not changed, they are used until it is looked again.
        let mayGoOn = state == .known && changes.isHarmless
        if pause == nil, let delay = changes.delayForNext() {
            if !mayGoOn {
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
        switch state {
        case .unknown: check(&output)
        case .known:
            doubt = pause == nil ? .outOfSync : .changed(0x0001...0xFFFF)
            output.stale = 0x0001...0xFFFF
            check(&output)
        case .waiting, .checking, .discovering, .settling: break
        }
        return output
    }

    /// What is known and remembered is not to be used any more.
    package mutating func forget() -> Output {
        var output = Output()
        withdraw(&output)
        let number = lastNumber
        self = DatabaseTracker(tellsLater: tellsLater)
        lastNumber = number
        output.memory = .forget
        return output
    }
}
