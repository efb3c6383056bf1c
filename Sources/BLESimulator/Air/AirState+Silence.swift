internal import BLEProtocol

extension AirState {
    /// Checks whether the two ends of a link still receive each other, after a change that may affect it.
    mutating func refreshSilence(of link: LinkRecord) {
        let (central, peripheral) = (link.central, link.peripheral)
        guard !central.isOver || !peripheral.isOver else { return }
        let isSilent =
            central.isOver || peripheral.isOver || isMute(central.adapter) || isMute(peripheral.adapter)
            || !signal(central.adapter, peripheral.adapter).isInRange
        guard isSilent != link.isSilent else { return }
        link.isSilent = isSilent
        link.silences &+= 1
        if isSilent {
            link.eventDue = nil
            let due = now + link.timing.supervisionTimeout
            schedule(.supervision(link.id, silence: link.silences), at: due)
            return
        }
        if LinkRole.allCases.contains(where: { !link[$0].outgoing.isEmpty || link[$0].isClosing }) {
            scheduleConnectionEvent(of: link)
        }
        // What the controllers have repeated meanwhile.
        deliverDue(on: link)
        scheduleEncryption(of: link)
        resumePairings(of: link)
    }

    /// Whether an adapter neither sends nor receives anything.
    private func isMute(_ adapter: AdapterID) -> Bool {
        adapters[adapter].state != .poweredOn || adapters[adapter].isHung
    }

    mutating func refreshSilence(between a: AdapterID, and b: AdapterID) {
        for (near, far) in [(a, b), (b, a)] {
            if let id = adapters[near].links[adapters[far].address], let link = links[id.link] {
                refreshSilence(of: link)
            }
        }
    }

    mutating func refreshSilenceOfAllLinks() {
        for link in links.all { refreshSilence(of: link) }
    }

    mutating func runSupervisionTimeout(_ id: LinkID, silence: UInt32) {
        guard let link = links[id], link.isSilent, link.silences == silence else { return }
        for role in LinkRole.allCases {
            let hasClosed = link[role].isClosing
            // A controller that hangs doesn't report that the link is lost.
            if !hasClosed, adapters[link[role].adapter].isHung { continue }
            let reason =
                hasClosed
                ? DisconnectReason(.closedLocally, hciStatus: 0x16)
                : DisconnectReason(.supervisionTimeout, hciStatus: 0x08)
            end(link, role, reason)
        }
    }
}
