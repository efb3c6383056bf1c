internal import BLEProtocol
internal import BLERadio

/// Everything to deliver to one end of a link at once.
struct LinkNews {
    var receiver: any ATTLinkReceiver
    var inbox: Inbox
    var isWritable: Bool
    var encryptionFailures: [BLEError]
    var end: DisconnectReason?
}

extension AirState {
    // MARK: - What an owner asks for

    mutating func start(_ id: LinkEndID, _ receiver: any ATTLinkReceiver) {
        guard let link = links[id.link] else { return }
        precondition(!link[id.role].isStarted, "a link is started once")
        link[id.role].isStarted = true
        link[id.role].receiver = receiver
        queueDelivery(to: id.role, of: link)
    }

    mutating func send(_ pdu: [UInt8], from id: LinkEndID) -> SendResult {
        guard let link = links[id.link], link[id.role].isOpen else { return .ended }
        precondition(!pdu.isEmpty && pdu.count <= link.maximumPDUSize, "a PDU must fit the link")
        let end = link[id.role]
        let size = end.outgoing.size
        guard size == 0 || size + pdu.count + PDUQueue.overhead <= end.sendBufferSize else {
            end.isBlocked = true
            return .full
        }
        end.outgoing.append(pdu)
        scheduleConnectionEvent(of: link)
        return .sent
    }

    mutating func disconnect(_ id: LinkEndID) {
        guard let link = links[id.link], link[id.role].isOpen else { return }
        link[id.role].phase = .closing
        scheduleConnectionEvent(of: link)
        // Its peer may have given the link up long ago.
        if adapters[link[id.role].adapter].isHung { schedule(.giveUp(id), at: now + Self.commandTimeout) }
    }

    /// After how long a host gives up a link whose end the controller doesn't report. Source: kernel,
    /// `include/net/bluetooth/hci.h`, `HCI_CMD_TIMEOUT`.
    private static let commandTimeout = Duration.seconds(2)

    /// The host gives up a link that it has closed, and whose end the controller doesn't report. The peer hears nothing
    /// of that.
    mutating func giveUp(_ id: LinkEndID) {
        guard let link = links[id.link], link[id.role].isClosing else { return }
        end(link, id.role, DisconnectReason(.closedLocally, hciStatus: 0x16))
    }

    /// The owner of this end has let its object go.
    mutating func letGo(_ id: LinkEndID) {
        lastSecurities[id] = nil
        links[id.link]?[id.role].isHeld = false
        abandon(id)
    }

    /// Nobody owns this end any more: it closes, and what arrives for it is discarded.
    private mutating func abandon(_ id: LinkEndID) {
        guard let link = links[id.link], !link[id.role].isStarted else { return }
        link[id.role].isOwned = false
        link[id.role].inbox = Inbox()
        if link[id.role].isOver {
            link[id.role].phase = .gone
            forget(link)
        } else {
            disconnect(id)
        }
    }

    // MARK: - Connection events

    /// Schedules the next connection event that carries something, unless it is already scheduled.
    mutating func scheduleConnectionEvent(of link: LinkRecord) {
        guard !link.isSilent else { return }
        let due = nextConnectionEvent(of: link)
        if let scheduled = link.eventDue, scheduled <= due { return }
        link.eventDue = due
        schedule(.connectionEvent(link.id), at: due)
    }

    func nextConnectionEvent(of link: LinkRecord) -> Duration {
        let interval = link.timing.connectionInterval
        guard interval > .zero else { return now }
        guard now >= link.anchor else { return link.anchor }
        var number = (now - link.anchor).attoseconds / interval.attoseconds + 1
        if link.timing.peripheralLatency > 0, link.peripheral.outgoing.isEmpty, link.peripheral.isOpen {
            // A peripheral with nothing to send listens only at some events.
            let step = Int128(link.timing.peripheralLatency + 1)
            number = (number + step - 1) / step * step
        }
        return link.anchor + Duration(attoseconds: interval.attoseconds * number)
    }

    mutating func runConnectionEvent(_ id: LinkID, due: Duration) {
        guard let link = links[id], link.eventDue == due else { return }
        link.eventDue = nil
        guard !link.isSilent else { return }
        exchange(on: link)
        if link.central.isClosing || link.peripheral.isClosing { close(link) }
        if !link.central.outgoing.isEmpty || !link.peripheral.outgoing.isEmpty { scheduleConnectionEvent(of: link) }
    }

    private mutating func close(_ link: LinkRecord) {
        let closers = LinkRole.allCases.filter { link[$0].isClosing }
        for role in closers { end(link, role, DisconnectReason(.closedLocally, hciStatus: 0x16)) }
        for role in closers { end(link, role.opposite, DisconnectReason(.closedByPeer, hciStatus: 0x13)) }
    }

    private mutating func exchange(on link: LinkRecord) {
        if link.timing.connectionInterval == .zero {
            for role in LinkRole.allCases {
                while let pdu = link[role].outgoing.popFirst() { carry(pdu, from: role, on: link) }
            }
        } else {
            var budget = EventBudget(link.timing)
            while true {
                let down = link.central.outgoing.nextPacket(link.timing.dataLength)
                let up = link.peripheral.outgoing.nextPacket(link.timing.dataLength)
                guard down > 0 || up > 0, budget.take(down, and: up) else { break }
                if down > 0, let pdu = link.central.outgoing.send(packet: down) {
                    carry(pdu, from: .central, on: link)
                }
                // The previous PDU may have ended the link.
                if up > 0, !link.peripheral.outgoing.isEmpty, let pdu = link.peripheral.outgoing.send(packet: up) {
                    carry(pdu, from: .peripheral, on: link)
                }
            }
        }
        for role in LinkRole.allCases { unblock(role, of: link) }
    }

    /// Tells a refused sender once half of the buffer is free, as the kernel does.
    private mutating func unblock(_ role: LinkRole, of link: LinkRecord) {
        let end = link[role]
        guard end.isBlocked, end.outgoing.size <= end.sendBufferSize / 2 else { return }
        end.isBlocked = false
        end.isWritableAgain = true
        queueDelivery(to: role, of: link)
    }

    // MARK: - Arrival and end

    /// Puts a PDU that has arrived over the air into the receiver's inbox.
    mutating func receive(_ pdu: [UInt8], at role: LinkRole, of link: LinkRecord) {
        let end = link[role]
        guard end.isOpen, end.isOwned else { return }
        if !end.isStarted, end.inbox.count >= end.receiveBufferCount {
            end.inbox.lose()
        } else {
            end.inbox.append(pdu, time: wallTime())
        }
        queueDelivery(to: role, of: link)
    }

    /// Ends a link on one side.
    mutating func end(_ link: LinkRecord, _ role: LinkRole, _ reason: DisconnectReason) {
        guard !link[role].isOver else { return }
        link[role].phase = link[role].isOwned ? .ended(reason) : .gone
        link[role].outgoing.removeAll()
        if role == .central {
            let error = BLEError.endedWhileEncrypting(link.central.peer, reason)
            for result in link.encryptions { outbox.append(.encrypted(.failure(error), result)) }
            link.encryptions = []
        }
        link.held.removeAll { $0.receiver == role.opposite }
        let adapter = link[role].adapter
        let peer = adapters[link[role.opposite].adapter].address
        adapters[adapter].links[peer] = nil
        endPairings(of: link, begunAt: role, reason)
        if role == .peripheral { adapters[adapter].peripheralLinkCount -= 1 }
        wakeAdvertisements(of: adapter)
        dropPlannedLosses(of: link)
        note(link, .ended(role, reason))
        queueDelivery(to: role, of: link)
        forget(link)
    }

    /// Ends a link on both sides with one reason.
    mutating func cut(_ link: LinkRecord, _ reason: DisconnectReason) {
        end(link, .central, reason)
        end(link, .peripheral, reason)
    }

    private mutating func forget(_ link: LinkRecord) {
        guard link.isForgotten else { return }
        for role in LinkRole.allCases where link[role].isHeld {
            let id = LinkEndID(link: link.id, role: role)
            let last = security(of: id)
            if last != LinkSecurity.none { lastSecurities[id] = last }
        }
        links.remove(link.id)
    }

    // MARK: - Delivery

    mutating func queueDelivery(to role: LinkRole, of link: LinkRecord) {
        let end = link[role]
        guard !end.isDeliveryQueued, end.isOwned else { return }
        end.isDeliveryQueued = true
        outbox.append(.link(LinkEndID(link: link.id, role: role)))
    }

    /// Takes what has gathered for one end; `nil` if there is nothing, or no receiver yet.
    mutating func takeNews(for id: LinkEndID) -> LinkNews? {
        guard let link = links[id.link] else { return nil }
        let end = link[id.role]
        end.isDeliveryQueued = false
        guard let receiver = end.receiver else { return nil }
        var news = LinkNews(
            receiver: receiver,
            inbox: end.inbox,
            isWritable: end.isWritableAgain && end.isOpen,
            encryptionFailures: end.encryptionFailures
        )
        end.encryptionFailures = []
        end.inbox = Inbox()
        end.isWritableAgain = false
        if case .ended(let reason) = end.phase {
            news.end = reason
            end.receiver = nil
        }
        return news
    }

    mutating func takeReceivers() -> [any ATTLinkReceiver] {
        links.all.flatMap { [$0.central.receiver.take(), $0.peripheral.receiver.take()] }.compactMap { $0 }
    }

    /// One end has been told that the link is over; its later requests have no effect.
    mutating func finish(_ id: LinkEndID) {
        guard let link = links[id.link] else { return }
        link[id.role].phase = .gone
        forget(link)
    }
}
