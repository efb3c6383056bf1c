internal import BLEProtocol

/// The fault plan's rules and their counts. A plain value.
struct FaultRules: Sendable {
    struct Rule: Sendable {
        let id: FaultID
        let action: Fault.Action
        let scope: FaultScope
        let mark: StrikeMark?
        var remaining: Int?
        var toSkip: Int
        var strikes = 0
        var isOutage = false
        /// The number of links counted by a rule that strikes only some of them.
        var links = 0
    }

    /// The outcome of an attempt to connect.
    enum ConnectionFate: Sendable {
        case accepted
        case refused(DisconnectReason.Kind)
        /// The peer doesn't answer it, as long as this fault is there.
        case ignored(FaultID)
        case delayed(Duration)
    }

    private(set) var rules: [Rule] = []
    private var nextNumber = 0
    private var outages = 0

    var isEmpty: Bool { rules.isEmpty }

    mutating func add(_ fault: Fault, _ scope: FaultScope) -> FaultID {
        let id = FaultID(number: nextNumber)
        nextNumber += 1
        rules.append(
            Rule(
                id: id,
                action: fault.action,
                scope: scope,
                mark: fault.mark,
                remaining: fault.limit,
                toSkip: fault.skipped
            )
        )
        return id
    }

    mutating func remove(_ id: FaultID) -> Rule? {
        setOutage(false, of: id)
        return rules.firstIndex { $0.id == id }.map { rules.remove(at: $0) }
    }

    mutating func removeAll() -> [Rule] {
        outages = 0
        defer { rules = [] }
        return rules
    }

    func rule(_ id: FaultID) -> Rule? { rules.first { $0.id == id } }

    func strikes(of id: FaultID) -> Int { rule(id)?.strikes ?? 0 }

    /// Counts an occasion. Returns whether the rule strikes on it.
    mutating func strike(_ id: FaultID) -> Bool {
        guard let index = rules.firstIndex(where: { $0.id == id }) else { return false }
        return strike(at: index)
    }

    private mutating func strike(at index: Int) -> Bool {
        if rules[index].remaining == 0 { return false }
        if rules[index].toSkip > 0 {
            rules[index].toSkip -= 1
            return false
        }
        if let remaining = rules[index].remaining { rules[index].remaining = remaining - 1 }
        rules[index].strikes += 1
        rules[index].mark?.strike()
        return true
    }

    // MARK: - Occasions

    /// Counts a new link. Returns whether it is one that is never established.
    mutating func loses(aLinkBy id: FaultID) -> Bool {
        guard let index = rules.firstIndex(where: { $0.id == id }),
            case .neverEstablish(let count, let total) = rules[index].action
        else { return false }
        defer { rules[index].links += 1 }
        return rules[index].links % total < count && strike(at: index)
    }

    /// What the first rule that matches a PDU, and strikes, does to it.
    mutating func fault(for pdu: [UInt8], from role: LinkRole, between a: AdapterID, and b: AdapterID)
        -> Fault.PDUFault?
    {
        for index in rules.indices {
            guard case .pdu(let filter, let fault) = rules[index].action, rules[index].scope.contains(a, b),
                filter.matches(pdu, from: role), strike(at: index)
            else { continue }
            return fault
        }
        return nil
    }

    mutating func connectionFate(central: AdapterID, peripheral: AdapterID) -> ConnectionFate {
        for index in rules.indices {
            guard case .connection(let fault) = rules[index].action,
                rules[index].scope.contains(central, peripheral), strike(at: index)
            else { continue }
            switch fault {
            case .refuse(let reason): return .refused(reason)
            case .ignore: return .ignored(rules[index].id)
            case .delay(let delay): return .delayed(delay)
            }
        }
        return .accepted
    }

    mutating func missesAdvertisement(_ a: AdapterID, _ b: AdapterID, randomBits: () -> UInt64) -> Bool {
        for index in rules.indices {
            guard case .missAdvertisements(let probability) = rules[index].action, rules[index].scope.contains(a, b),
                Double(randomBits() >> 11) / Double(1 << 53) < probability, strike(at: index)
            else { continue }
            return true
        }
        return false
    }

    // MARK: - Outages

    func hasOutage(_ a: AdapterID, _ b: AdapterID) -> Bool {
        outages > 0 && rules.contains { $0.isOutage && $0.scope.contains(a, b) }
    }

    mutating func setOutage(_ isOutage: Bool, of id: FaultID) {
        guard let index = rules.firstIndex(where: { $0.id == id }), rules[index].isOutage != isOutage else { return }
        rules[index].isOutage = isOutage
        outages += isOutage ? 1 : -1
    }
}
