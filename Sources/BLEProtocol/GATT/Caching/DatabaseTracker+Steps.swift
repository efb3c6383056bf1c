/// The steps: what to request next, and what is known afterwards.
extension DatabaseTracker {
    mutating func check(_ output: inout Output) {
        withdraw(&output)
        state = .checking
        rounds += 1
        if let remembered, remembered.hash == nil, isBelieved(remembered.database) {
            search(.probe, &output)
        } else {
            search(.readHash, &output)
        }
    }

    mutating func checked(_ read: [UInt8]?, _ output: inout Output) {
        // Which may not be known yet: the one known before has another hash.
        if let read, read == hash, let found {
            becomeKnown(found, &output)
        } else if let read, let remembered, read == remembered.hash {
            hash = read
            trust(remembered, &output)
        } else {
            if read == nil, remembered?.hash != nil { isUnsteady = true }
            // Since when is unknown: this link may have got values since.
            if read != nil, remembered?.hash != nil { output.mayHaveWithheld = mayWithhold }
            discover(read, &output)
        }
    }

    /// Whether, without a hash, the specification guarantees that it is unchanged, and nothing contradicts that.
    func isBelieved(_ database: GATTDatabase) -> Bool { tellsLater || database.isStatic && !mayChange }

    mutating func trust(_ remembered: RememberedDatabase, _ output: inout Output) {
        found = remembered.database
        isFromMemory = true
        isConfirmed = false
        isMemoryRight = true
        mustSettle = true
        becomeKnown(remembered.database, &output)
    }

    /// A database that was believed to be unchanged has changed.
    mutating func surprised(_ output: inout Output) {
        mayChange = true
        doubtMemory(&output)
        doubt = .changed(0x0001...0xFFFF)
        output.stale = 0x0001...0xFFFF
        check(&output)
    }

    /// Whether something is missing in a discovered database: the hash itself, which the peer has, or what would make
    /// the hash the peer's. A peer may compute it differently: what is found twice is right.
    func isDoubtful(_ found: GATTDatabase, _ computed: [UInt8]?) -> Bool {
        guard let nextHash else { return false }
        return !found.hasHash || computed != nil && computed != nextHash && found != self.found
    }

    /// A discovery beside the use of a database from memory.
    mutating func compare(_ result: Result<GATTDatabase, GATTFailure>, _ number: Int, _ output: inout Output) {
        let (isVerification, isCompletion) = (number == verification, number == completion)
        if isVerification { verification = nil }
        if isCompletion { completion = nil }
        // Meanwhile everything may be discovered for another reason.
        guard state == .known, let database else { return }
        switch result {
        case .success(let found) where found != database:
            return isVerification ? surprised(&output) : differs(found, &output)
        // Nobody has said whether something is missing, and nobody will on this link.
        case .failure(let failure) where failure.endsBearer:
            if isCompletion { fail(failure, &output) }
            return
        case .success, .failure: break
        }
        // A peer that answers with an error is asked once.
        isConfirmed = true
        if isCompletion { output.known = Known(database: database, news: .unchanged) }
    }

    /// Something else was discovered than the database from memory has, with the same hash: either may be what the peer
    /// ended too early. What is found twice is right.
    private mutating func differs(_ found: GATTDatabase, _ output: inout Output) {
        withdraw(&output)
        doubt = .changed(0x0001...0xFFFF)
        output.stale = 0x0001...0xFFFF
        discover(hash, &output)
        self.found = found
    }

    mutating func discover(_ read: [UInt8]?, _ output: inout Output) {
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

    /// Writes what this client supports, subscribes to changes, and checks whether there was one meanwhile.
    mutating func settle(_ found: GATTDatabase, _ output: inout Output) {
        self.found = found
        if let features = found.clientFeatures {
            output.requests.append(Request(number: 0, kind: .enableFeatures(handle: features.valueHandle)))
        }
        // A peer that keeps indicating it need not be subscribed to again.
        if let changed = found.serviceChanged, changed != told || changes.count <= 1 {
            told = changed
            output.requests.append(Request(number: 0, kind: .subscribe(changed)))
        }
        if hash != nil {
            verification = search(.readHash, &output)
        } else if isFromMemory {
            verification = search(.discover, &output)
        }
    }

    mutating func verified(_ read: [UInt8]?, _ output: inout Output) {
        let isSame = read == hash
        if case .settling(let found) = state {
            guard isSame || rounds >= Self.patience else {
                output.mayHaveWithheld = mayWithhold
                rounds += 1
                return discover(read, &output)
            }
            if !isSame {
                hash = nil
                isUnsteady = true
            }
            becomeKnown(found, &output)
        } else if state == .known, !isSame {
            output.mayHaveWithheld = mayWithhold
            doubt = .changed(0x0001...0xFFFF)
            output.stale = 0x0001...0xFFFF
            rounds += 1
            discover(read, &output)
        }
    }

    mutating func becomeKnown(_ found: GATTDatabase, _ output: inout Output) {
        switch (doubt, database) {
        // The first time, the peer's subscriptions may be gone with the change, even if the database looks the same, as
        // when a service was removed and has come back: they are made again. If it then reports another change, and
        // nothing changed, it is believed to be unchanged.
        case (.changed(let affected)?, let before?) where !changes.isHarmless || before != found:
            output.known = Known(database: found, news: .changed(before: before, affected: affected))
        case (.changed?, .some): output.known = Known(database: found, news: .unchanged)
        case (.outOfSync?, .some): output.known = Known(database: found, news: .unchanged)
        default: output.known = Known(database: found, news: .first)
        }
        let isWorthKeeping = hash != nil || !isUnsteady && (found.isStatic || tellsLater)
        let kept = RememberedDatabase(database: found, hash: hash, mayChange: hash == nil && mayChange)
        if !isWorthKeeping {
            if hasMemory { output.memory = .forget }
        } else if !isMemoryRight, kept != remembered {
            output.memory = .store(kept)
        }
        isMemoryRight = isWorthKeeping
        hasMemory = isWorthKeeping
        isMemoryUnproved = isWorthKeeping && hash == nil
        remembered = nil
        mayWithhold = found.hasRobustCaching
        if let database, found != database { believed = 0 }
        if case .changed? = doubt, let database { changes.looked(hasChanged: found != database) }
        doubt = nil
        database = found
        state = .known
        rounds = 0
        if changes.count > 0 { calm = search(.wait(ServiceChangeBackoff.calm), &output) }
    }

    /// The peer has answered Database Out Of Sync, which only one with robust caching does. One that has told of the
    /// change by Service Changed has sent that at once, and goes on behind the confirmation. One that is out of sync
    /// again and again, though nothing has changed, withholds nothing.
    mutating func outOfSync(_ output: inout Output) {
        if case .changed? = doubt, changes.count > 0 { return }
        guard isBelievable else { return }
        believed += 1
        output.mayHaveWithheld = true
    }

    /// Whether the peer has not been out of sync again and again, though nothing has changed.
    var isBelievable: Bool { believed < ServiceChangeBackoff.patience }

    /// The peer has told of a change, or it was found. Nothing tells the next link, which would believe what is
    /// remembered without a hash: that is kept again once the change was looked at, which this link may not live to
    /// see.
    mutating func doubtMemory(_ output: inout Output) {
        if isMemoryUnproved { output.memory = .forget }
        isMemoryUnproved = false
    }

    mutating func fail(_ failure: GATTFailure, _ output: inout Output) {
        withdraw(&output)
        state = .unknown
        doubt = nil
        database = nil
        found = nil
        hash = nil
        nextHash = nil
        rounds = 0
        cutOffs = 0
        output.failure = failure
    }

    /// The peer is not calm: ends the wait for that.
    mutating func endCalm(_ output: inout Output) {
        guard let number = calm.take(), close(number) else { return }
        output.withdrawn.append(number)
    }

    @discardableResult
    mutating func search(_ kind: Request.Kind, _ output: inout Output) -> Int {
        lastNumber += 1
        open.append(lastNumber)
        output.requests.append(Request(number: lastNumber, kind: kind))
        return lastNumber
    }

    mutating func withdraw(_ output: inout Output) {
        output.withdrawn += open.sorted()
        open = []
        verification = nil
        completion = nil
        pause = nil
        calm = nil
    }
}
