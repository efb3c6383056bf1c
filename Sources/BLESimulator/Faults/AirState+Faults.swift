internal import BLEProtocol
internal import BLERadio
internal import CLibrary

/// What the fault plan does at a scheduled time.
enum FaultTimer: Sendable {
    case dropLink(FaultID, LinkID)
    case loseUnestablished(LinkID)
    case beginOutage(FaultID, lasting: Duration?)
    case endOutage(FaultID)
    case latePDU([UInt8], LinkEndID)
    case heldTooLong(LinkID, number: UInt64)
}

/// A PDU that is held back until others have overtaken it.
struct HeldPDU {
    let pdu: [UInt8]
    let receiver: LinkRole
    let number: UInt64
    var waitsFor: Int
    /// Whether it was held back for long enough: it waits only for a link that is no longer silent.
    var isDue = false
}

extension AirState {
    mutating func addFault(_ fault: Fault, _ scope: FaultScope) -> FaultID {
        let id = faults.add(fault, scope)
        switch fault.action {
        case .outOfRange(let delay, let duration):
            schedule(.fault(.beginOutage(id, lasting: duration)), at: now + max(delay, .zero))
        case .dropLinkAfterTime, .loseLinks:
            for link in links.all { plan(id, on: link) }
        case .pdu, .dropLinkAfterPDUs, .connection, .missAdvertisements, .neverEstablish:
            break
        }
        return id
    }

    /// Returns the rule, so that its closures are released outside the lock.
    mutating func removeFault(_ id: FaultID) -> FaultRules.Rule? {
        defer { refreshSilenceOfAllLinks() }
        return faults.remove(id)
    }

    mutating func removeAllFaults() -> [FaultRules.Rule] {
        defer { refreshSilenceOfAllLinks() }
        return faults.removeAll()
    }

    /// Applies the fault plan to a new link.
    mutating func planFaults(on link: LinkRecord) {
        for rule in faults.rules { plan(rule.id, on: link) }
    }

    private mutating func plan(_ id: FaultID, on link: LinkRecord) {
        guard let rule = faults.rule(id), rule.scope.contains(link.central.adapter, link.peripheral.adapter),
            !link.central.isOver, !link.peripheral.isOver
        else { return }
        switch rule.action {
        case .dropLinkAfterPDUs(0, _, let reason):
            if faults.strike(id) { cut(link, reason) }
        case .dropLinkAfterTime(let time, _):
            planLoss(by: id, of: link, at: now + max(time, .zero))
        case .loseLinks(let mean, _):
            // Exponentially distributed: at any moment as likely as at any other.
            let chance = Double((timeline.randomBits() >> 11) + 1) / Double(1 << 53)
            planLoss(by: id, of: link, at: now + mean * -log(chance))
        case .neverEstablish:
            guard faults.loses(aLinkBy: id) else { return }
            link.isUnestablished = true
            let limit = link.timing.connectionInterval * LinkRecord.eventsToEstablish
            schedule(.fault(.loseUnestablished(link.id)), at: now + limit)
        default:
            break
        }
    }

    private mutating func planLoss(by id: FaultID, of link: LinkRecord, at time: Duration) {
        link.hasPlannedLoss = true
        schedule(.fault(.dropLink(id, link.id)), at: time)
    }

    /// A link that has ended is not lost any more, however far away that was planned.
    mutating func dropPlannedLosses(of link: LinkRecord) {
        guard link.hasPlannedLoss, link.central.isOver, link.peripheral.isOver else { return }
        link.hasPlannedLoss = false
        unschedule { if case .fault(.dropLink(_, link.id)) = $0 { true } else { false } }
    }

    mutating func runFaultTimer(_ timer: FaultTimer) {
        switch timer {
        case .dropLink(let id, let link):
            guard let link = links[link], !link.central.isOver, !link.peripheral.isOver else { return }
            switch faults.rule(id)?.action {
            case .dropLinkAfterTime(_, let reason), .loseLinks(_, let reason):
                if faults.strike(id) { cut(link, reason) }
            default: break
            }
        case .loseUnestablished(let link):
            if let link = links[link] { cut(link, DisconnectReason(onAir: .failedToEstablish)) }
        case .beginOutage(let id, let duration):
            guard faults.strike(id) else { return }
            faults.setOutage(true, of: id)
            if let duration { schedule(.fault(.endOutage(id)), at: now + duration) }
            refreshSilenceOfAllLinks()
        case .endOutage(let id):
            faults.setOutage(false, of: id)
            refreshSilenceOfAllLinks()
        case .latePDU(let pdu, let end):
            guard let link = links[end.link] else { return }
            link.held.append(HeldPDU(pdu: pdu, receiver: end.role, number: nextHeld, waitsFor: .max, isDue: true))
            nextHeld &+= 1
            deliverDue(on: link)
        case .heldTooLong(let link, let number):
            guard let link = links[link], let index = link.held.firstIndex(where: { $0.number == number })
            else { return }
            link.held[index].isDue = true
            deliverDue(on: link)
        }
    }

    /// Delivers the PDUs that a fault has held back for long enough, as soon as something arrives on the link.
    mutating func deliverDue(on link: LinkRecord) {
        guard !link.isSilent, !link.held.isEmpty else { return }
        let due = link.held.filter(\.isDue)
        link.held.removeAll(where: \.isDue)
        for held in due { deliver(held.pdu, from: held.receiver.opposite, on: link, fate: .delayed) }
    }

    // MARK: - PDUs

    /// Carries one PDU over the air, as far as the fault plan lets it.
    mutating func carry(_ pdu: [UInt8], from role: LinkRole, on link: LinkRecord) {
        guard !link[role].isOver else { return }
        if link.isUnestablished { return note(link, .pdu(pdu, from: role, fate: .swallowed)) }
        let (central, peripheral) = (link.central.adapter, link.peripheral.adapter)
        guard !faults.isEmpty, let fault = faults.fault(for: pdu, from: role, between: central, and: peripheral) else {
            return deliver(pdu, from: role, on: link, fate: .delivered)
        }
        switch fault {
        case .swallow:
            note(link, .pdu(pdu, from: role, fate: .swallowed))
        case .overflow:
            note(link, .pdu(pdu, from: role, fate: .overflowed))
            link[role.opposite].inbox.lose()
            queueDelivery(to: role.opposite, of: link)
        case .duplicate(let copies):
            deliver(pdu, from: role, on: link, fate: .delivered)
            for _ in 0..<copies { deliver(pdu, from: role, on: link, fate: .duplicated) }
        case .delay(let delay):
            let end = LinkEndID(link: link.id, role: role.opposite)
            schedule(.fault(.latePDU(pdu, end)), at: now + max(delay, .zero))
        case .hold(let count, let limit):
            let held = HeldPDU(pdu: pdu, receiver: role.opposite, number: nextHeld, waitsFor: count)
            nextHeld &+= 1
            link.held.append(held)
            schedule(.fault(.heldTooLong(link.id, number: held.number)), at: now + max(limit, .zero))
        case .replace(let change):
            deliver(change(pdu), from: role, on: link, fate: .altered)
        case .corrupt:
            deliver(corrupted(pdu), from: role, on: link, fate: .altered)
        case .dropLink(let reason):
            cut(link, reason)
        }
    }

    private func corrupted(_ pdu: [UInt8]) -> [UInt8] {
        guard !pdu.isEmpty else { return pdu }
        var pdu = pdu
        let bit = Int(timeline.randomBits() % UInt64(pdu.count * 8))
        pdu[bit / 8] ^= 1 << UInt8(bit % 8)
        return pdu
    }

    /// Delivers a PDU, then those held back behind it, and then drops the link if the fault plan allows no further PDU.
    private mutating func deliver(_ pdu: [UInt8], from role: LinkRole, on link: LinkRecord, fate: AirRecord.Fate) {
        guard !link[role.opposite].isOver else { return }
        note(link, .pdu(pdu, from: role, fate: fate))
        receive(pdu, at: role.opposite, of: link)
        if !link.held.isEmpty, fate == .delivered { releaseHeld(passedBy: role, on: link) }
        if !faults.isEmpty { count(pdu, from: role, on: link) }
    }

    private mutating func releaseHeld(passedBy role: LinkRole, on link: LinkRecord) {
        var released: [HeldPDU] = []
        for index in link.held.indices where link.held[index].receiver == role.opposite {
            link.held[index].waitsFor -= 1
            if link.held[index].waitsFor == 0 { released.append(link.held[index]) }
        }
        link.held.removeAll { $0.waitsFor <= 0 }
        for held in released { deliver(held.pdu, from: role, on: link, fate: .overtaken) }
    }

    private mutating func count(_ pdu: [UInt8], from role: LinkRole, on link: LinkRecord) {
        for rule in faults.rules {
            guard case .dropLinkAfterPDUs(let limit, let filter, let reason) = rule.action, rule.remaining != 0,
                rule.scope.contains(link.central.adapter, link.peripheral.adapter), filter.matches(pdu, from: role)
            else { continue }
            link.faultCounts[rule.id, default: 0] += 1
            if link.faultCounts[rule.id] == limit, faults.strike(rule.id) { cut(link, reason) }
        }
    }
}
