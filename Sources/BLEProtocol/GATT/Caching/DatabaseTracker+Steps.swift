/// The steps: what is asked next, and what is known because of it.
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
        if let read, read == hash, let found = database ?? found {
            isAssumed = false
            becomeKnown(found, &output)
        } else if let read, let remembered, read == remembered.hash {
            hash = read
            isAssumed = false
            trust(remembered, &output)
        } else {
            if read == nil, remembered?.hash != nil { isUnsteady = true }
            discover(read, &output)
        }
    }

    /// Whether the specification says that it is as it was, without a hash, and nothing speaks against it.
    func isBelieved(_ database: GATTDatabase) -> Bool { tellsLater || database.isStatic && !mayChange }

    /// Uses what is remembered without a request before.
    mutating func assume(_ remembered: RememberedDatabase, _ output: inout Output) {
        hash = remembered.hash
        isAssumed = true
        trust(remembered, &output)
    }

    mutating func trust(_ remembered: RememberedDatabase, _ output: inout Output) {
        found = remembered.database
        isFromMemory = true
        isMemoryRight = true
        mustSettle = true
        becomeKnown(remembered.database, &output)
        if hasBegun { settleTrusted(&output) }
    }

    /// Has what is trusted confirmed, behind a request of the program's.
    mutating func settleTrusted(_ output: inout Output) {
        guard mustSettle, let database else { return }
        mustSettle = false
        hasBegun = false
        settle(database, &output)
    }

    /// The look at what was assumed is over, and has shown nothing else: what was suspected may go on.
    mutating func lookedAt(_ output: inout Output) {
        guard isSuspected, let database else { return }
        isSuspected = false
        output.known = Known(database: database, news: .unchanged)
    }

    /// What was believed to be as it was is not.
    mutating func surprised(_ output: inout Output) {
        mayChange = true
        isAssumed = false
        doubt = .changed(0x0001...0xFFFF)
        output.stale = 0x0001...0xFFFF
        check(&output)
    }

    mutating func discover(_ read: [UInt8]?, _ output: inout Output) {
        if doubt == .outOfSync { doubt = .changed(0x0001...0xFFFF) }
        // An answer with the new hash must not bring back what belongs to the old one.
        hash = nil
        nextHash = read
        isFromMemory = false
        isMemoryRight = false
        isAssumed = false
        isSuspected = false
        mustSettle = false
        hasBegun = false
        state = .discovering
        search(.discover, &output)
    }

    /// Says what this client understands, asks to be told of changes, and looks whether there was one meanwhile.
    mutating func settle(_ found: GATTDatabase, _ output: inout Output) {
        self.found = found
        if let features = found.clientFeatures {
            output.requests.append(Request(number: 0, kind: .enableFeatures(handle: features.valueHandle)))
        }
        // A peer that says something by it again and again need not be asked to.
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
                rounds += 1
                return discover(read, &output)
            }
            if !isSame {
                hash = nil
                isUnsteady = true
            }
            becomeKnown(found, &output)
        } else if state == .known, isSame {
            isAssumed = false
            lookedAt(&output)
        } else if state == .known {
            if isAssumed { mayChange = true }
            doubt = .changed(0x0001...0xFFFF)
            output.stale = 0x0001...0xFFFF
            rounds += 1
            discover(read, &output)
        }
    }

    mutating func becomeKnown(_ found: GATTDatabase, _ output: inout Output) {
        switch (doubt, database) {
        // The first time what a peer was told may be gone with it, though it all looks the same: that is told again. When
        // it then says once more that something changed, and nothing did, it is believed to be as it was.
        case (.changed(let affected)?, let before?) where changes.count <= 1 || before != found:
            output.known = Known(database: found, news: .changed(before: before, affected: affected))
        case (.changed?, .some): output.known = Known(database: found, news: .unchanged)
        case (.outOfSync?, .some): output.known = Known(database: found, news: .unchanged)
        default: output.known = Known(database: found, news: .first)
        }
        let isWorthKeeping = hash != nil || !isUnsteady && (found.isStatic || tellsLater)
        let canBeBelieved = hash == nil || found.isStatic
        let kept = RememberedDatabase(database: found, hash: hash, mayChange: canBeBelieved && mayChange)
        if !isWorthKeeping {
            if hasMemory { output.memory = .forget }
        } else if !isMemoryRight, kept != remembered {
            output.memory = .store(kept)
        }
        isMemoryRight = isWorthKeeping
        hasMemory = isWorthKeeping
        remembered = nil
        if case .changed? = doubt, let database { changes.looked(hasChanged: found != database) }
        doubt = nil
        database = found
        state = .known
        isSuspected = false
        rounds = 0
        if changes.count > 0 { calm = search(.wait(ServiceChangeBackoff.calm), &output) }
    }

    mutating func fail(_ failure: GATTFailure, _ output: inout Output) {
        withdraw(&output)
        state = .unknown
        isAssumed = false
        isSuspected = false
        doubt = nil
        database = nil
        found = nil
        hash = nil
        nextHash = nil
        rounds = 0
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
        pause = nil
        calm = nil
    }
}
