/// What a client knows of a peer's attributes on one link, and what it has to ask to know it: discovery, or trust in what
/// it remembers, and the way back to certainty when the peer says that something has changed.
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
/// A remembered database is used after one request. What settles it is then asked for only behind the first request of
/// the program (``operationBegan()``), and the hash is read once more: a change in between is noticed too.
///
/// A value: it asks for requests, whose results are handed back with the number that each was given. An answer to what
/// is not asked any more is ignored. Source: Core Specification, Vol 3, Part G, 2.5.2.
package struct DatabaseTracker: Sendable {
    /// What is written to Client Supported Features: tell me when I am wrong, and I take several values in one PDU.
    package static let features: GATTClientFeatures = [.robustCaching, .multipleNotifications]

    /// A peer that never comes to rest is believed in the end, and nothing of it is remembered.
    private static let patience = 4

    private enum State: Hashable, Sendable {
        case unknown, waiting, checking, discovering
        case settling(GATTDatabase)
        case known
    }

    /// Why what was known is looked at again.
    private enum Doubt: Hashable, Sendable {
        /// The peer says that these handles have changed.
        case changed(ClosedRange<UInt16>)
        /// The peer has answered that something may have.
        case outOfSync
    }

    private var state = State.unknown
    private var remembered: RememberedDatabase?
    /// What was known last on this link, the hash of what is known or was discovered last, and the one that was read before
    /// the discovery that is under way.
    private var database: GATTDatabase?
    private var hash: [UInt8]?
    private var nextHash: [UInt8]?
    private var doubt: Doubt?
    /// What was discovered last on this link, known or not.
    private var found: GATTDatabase?
    /// How often the peer has said that its services changed.
    private var changes = ServiceChangeBackoff()
    /// The wait before it is looked what has changed, and the one after which the peer counts as calm.
    private var pause: Int?
    private var calm: Int?
    /// Where Service Changed was asked for last.
    private var told: Characteristic?
    /// How often the search has begun anew.
    private var rounds = 0
    /// Whether what settles a trusted database waits for the program's first request.
    package private(set) var mustSettle = false
    /// The reading of the hash that ends the settling.
    private var verification: Int?
    /// The searches whose answers are awaited.
    private var open: [Int] = []
    private var lastNumber = 0
    /// Whether anything is kept for the next link, and whether it is what is known now.
    private var hasMemory: Bool
    private var isMemoryRight = false

    /// - Parameter remembered: what the peer offered when it was met last.
    package init(remembered: RememberedDatabase? = nil) {
        self.remembered = remembered
        hasMemory = remembered != nil
    }

    /// The database, while it may be used.
    package var current: GATTDatabase? { state == .known ? database : nil }

    /// Whether the database in use was remembered, not discovered.
    package private(set) var isFromMemory = false
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
    private mutating func close(_ number: Int) -> Bool {
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

    /// The answer to ``Request/Kind/discover``.
    package mutating func discovered(_ number: Int, _ result: Result<GATTDatabase, GATTFailure>) -> Output {
        var output = Output()
        guard close(number) else { return output }
        switch result {
        case .failure(.attribute(.databaseOutOfSync, _)) where rounds < Self.patience:
            check(&output)
        case .failure(let failure):
            fail(failure, &output)
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
        self = DatabaseTracker()
        lastNumber = number
        output.memory = .forget
        return output
    }
}

// MARK: - Steps

extension DatabaseTracker {
    private mutating func check(_ output: inout Output) {
        withdraw(&output)
        state = .checking
        rounds += 1
        search(.readHash, &output)
    }

    private mutating func checked(_ read: [UInt8]?, _ output: inout Output) {
        if let read, read == hash, let found = database ?? found {
            becomeKnown(found, &output)
        } else if let read, let remembered, read == remembered.hash {
            hash = read
            found = remembered.database
            isFromMemory = true
            isMemoryRight = true
            mustSettle = true
            becomeKnown(remembered.database, &output)
        } else {
            discover(read, &output)
        }
    }

    private mutating func discover(_ read: [UInt8]?, _ output: inout Output) {
        if doubt == .outOfSync { doubt = .changed(0x0001...0xFFFF) }
        // An answer with the new hash must not bring back what belongs to the old one.
        hash = nil
        nextHash = read
        isFromMemory = false
        isMemoryRight = false
        mustSettle = false
        state = .discovering
        search(.discover, &output)
    }

    /// Says what this client understands, asks to be told of changes, and looks whether there was one meanwhile.
    private mutating func settle(_ found: GATTDatabase, _ output: inout Output) {
        self.found = found
        if let features = found.clientFeatures {
            output.requests.append(Request(number: 0, kind: .enableFeatures(handle: features.valueHandle)))
        }
        // A peer that says something by it again and again need not be asked to.
        if let changed = found.serviceChanged, changed != told || changes.count <= 1 {
            told = changed
            output.requests.append(Request(number: 0, kind: .subscribe(changed)))
        }
        if hash != nil { verification = search(.readHash, &output) }
    }

    private mutating func verified(_ read: [UInt8]?, _ output: inout Output) {
        let isSame = read == hash
        if case .settling(let found) = state {
            guard isSame || rounds >= Self.patience else {
                rounds += 1
                return discover(read, &output)
            }
            if !isSame { hash = nil }
            becomeKnown(found, &output)
        } else if state == .known, !isSame {
            doubt = .changed(0x0001...0xFFFF)
            output.stale = 0x0001...0xFFFF
            rounds += 1
            discover(read, &output)
        }
    }

    private mutating func becomeKnown(_ found: GATTDatabase, _ output: inout Output) {
        switch (doubt, database) {
        // The first time what a peer was told may be gone with it, though it all looks the same: that is told again. When
        // it then says once more that something changed, and nothing did, it is believed to be as it was.
        case (.changed(let affected)?, let before?) where changes.count <= 1 || before != found:
            output.known = Known(database: found, news: .changed(before: before, affected: affected))
        case (.changed?, .some): output.known = Known(database: found, news: .unchanged)
        case (.outOfSync?, .some): output.known = Known(database: found, news: .unchanged)
        default: output.known = Known(database: found, news: .first)
        }
        if let hash {
            if !isMemoryRight { output.memory = .store(RememberedDatabase(database: found, hash: hash)) }
        } else if hasMemory {
            output.memory = .forget
        }
        isMemoryRight = hash != nil
        hasMemory = isMemoryRight
        remembered = nil
        if case .changed? = doubt, let database { changes.looked(hasChanged: found != database) }
        doubt = nil
        database = found
        state = .known
        rounds = 0
        if changes.count > 0 { calm = search(.wait(ServiceChangeBackoff.calm), &output) }
    }

    private mutating func fail(_ failure: GATTFailure, _ output: inout Output) {
        withdraw(&output)
        state = .unknown
        doubt = nil
        database = nil
        found = nil
        hash = nil
        nextHash = nil
        rounds = 0
        output.failure = failure
    }

    /// The peer is not calm: ends the wait for that.
    private mutating func endCalm(_ output: inout Output) {
        guard let number = calm.take(), close(number) else { return }
        output.withdrawn.append(number)
    }

    @discardableResult
    private mutating func search(_ kind: Request.Kind, _ output: inout Output) -> Int {
        lastNumber += 1
        open.append(lastNumber)
        output.requests.append(Request(number: lastNumber, kind: kind))
        return lastNumber
    }

    private mutating func withdraw(_ output: inout Output) {
        output.withdrawn += open.sorted()
        open = []
        verification = nil
        pause = nil
        calm = nil
    }
}
