import BLEProtocol
import BLERadio

extension RadioClause {
    static let connecting = [
        RadioClause("a connection is accepted at the other end, and each end names its peer", [.linking]) { stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            try RadioBreach.unless(pair.here.peer == stage.address, "the link is one to \(pair.here.peer)")
            try RadioBreach.unless(pair.here.maximumPDUSize >= 23, "PDUs of \(pair.here.maximumPDUSize) octets")
            try await pair.close()
        },
        RadioClause("an adapter has a link while there is one, in either role", [.linking, .scanning]) { stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            try RadioBreach.unless(stage.central.isLinked, "the central's adapter has no link")
            try RadioBreach.unless(stage.central.hasLink(to: stage.address), "it has none with its peer")
            try RadioBreach.unless(stage.peripheral.isLinked, "the peripheral's adapter has no link")
            try await pair.close()
        },
        RadioClause("a cancelled attempt has no result, and holds no other one up", [.linking, .scanning]) { stage in
            let absent = BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random)
            let attempt = Events { stage.central.connect(to: absent, result: $0) }
            attempt.activity.cancel()
            let open = try await stage.opened()
            try await stage.link(to: open).close()
            try RadioBreach.unless(attempt.count == 0, "the cancelled attempt has a result")
        },
        RadioClause("two links at once don't mix", [.linking, .otherCentral]) { stage in
            let open = try await stage.opened()
            let first = try await stage.link(to: open)
            let second = try await stage.link(to: open, from: stage.otherCentral)
            let (toFirst, toSecond) = (LinkRecorder(), LinkRecorder())
            first.there.start(toFirst)
            second.there.start(toSecond)
            try RadioBreach.unless(first.here.send([0x52, 1, 1]) == .sent, "the first link takes nothing")
            try RadioBreach.unless(second.here.send([0x52, 2, 2]) == .sent, "the second link takes nothing")
            let arrived = (await toFirst.next(), await toSecond.next())
            try RadioBreach.unless(
                arrived.0 == .received([0x52, 1, 1]) && arrived.1 == .received([0x52, 2, 2]),
                "\(arrived) arrived"
            )
            first.here.disconnect()
            _ = await toFirst.untilEnd()
            try RadioBreach.unless(second.here.send([0x52, 3, 3]) == .sent, "the second link went with the first")
            let last = await toSecond.next()
            try RadioBreach.unless(last == .received([0x52, 3, 3]), "\(last as Any) arrived")
            second.here.disconnect()
            _ = await toSecond.untilEnd()
        },
    ]

    static let traffic = [
        RadioClause("PDUs arrive whole and in order, both ways at once", [.linking]) { stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            let (here, there) = (LinkRecorder(), LinkRecorder())
            pair.here.start(here)
            pair.there.start(there)
            let pdus = (0..<100).map { [0x52, UInt8($0), UInt8($0)] + [UInt8](repeating: UInt8($0), count: $0 % 18) }
            for pdu in pdus {
                try await pair.here.sendWhole(pdu, here)
                try await pair.there.sendWhole(pdu, there)
            }
            for (name, receiver) in [("the central", here), ("the peripheral", there)] {
                let arrived = await receiver.pdus(pdus.count)
                try RadioBreach.unless(arrived == pdus, "\(name) received \(arrived)")
            }
            pair.here.disconnect()
            _ = await (here.untilEnd(), there.untilEnd())
        },
        RadioClause("PDUs that came before the end are delivered before it", [.linking]) { stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            let (here, there) = (LinkRecorder(), LinkRecorder())
            pair.here.start(here)
            let pdus = (0..<5).map { [0x52, UInt8($0), 0] }
            for pdu in pdus { try RadioBreach.unless(pair.here.send(pdu) == .sent, "a link takes nothing") }
            pair.here.disconnect()
            _ = await here.untilEnd()
            // Not started before: they wait there, and the end behind them.
            pair.there.start(there)
            let (arrived, reason) = await there.untilEnd()
            try RadioBreach.unless(arrived == pdus && reason != nil, "\(arrived) arrived before the end")
        },
    ]

    static let endings = [
        RadioClause("an end is told once at each end, with who closed it", [.linking]) { stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            let there = LinkRecorder()
            pair.there.start(there)
            try await pair.here.keepsItsEnd()
            let reason = await there.untilEnd().reason
            try RadioBreach.unless(reason?.kind == .closedByPeer, "at the other end: \(reason as Any)")
            try RadioBreach.unless(pair.there.send([0x0A, 1, 0]) == .ended, "the other end takes PDUs after the end")
            pair.there.disconnect()
            try RadioBreach.unless(there.ends == 1, "the other end is told \(there.ends) times")
        },
        RadioClause("a link that the peripheral closes has ended for the central too", [.linking]) { stage in
            let open = try await stage.opened()
            let pair = try await stage.link(to: open)
            let here = LinkRecorder()
            pair.here.start(here)
            try await pair.there.keepsItsEnd()
            let reason = await here.untilEnd().reason
            try RadioBreach.unless(reason?.kind == .closedByPeer, "the central: \(reason as Any)")
            try RadioBreach.unless(pair.here.send([0x0A, 1, 0]) == .ended, "the central sends after the end")
        },
    ]
}

extension RadioStage.LinkPair {
    /// Ends the link, and waits until both ends know.
    fileprivate func close() async throws {
        let (atHere, atThere) = (LinkRecorder(), LinkRecorder())
        here.start(atHere)
        there.start(atThere)
        here.disconnect()
        let reasons = (await atHere.untilEnd().reason, await atThere.untilEnd().reason)
        try RadioBreach.unless(reasons.0 != nil && reasons.1 != nil, "the ends: \(reasons)")
    }
}

extension ATTLink {
    /// What holds for one end of a link whatever is at the other, checked by closing it: the end is told once, as
    /// closed by this side, and nothing is taken after it.
    ///
    /// The link must not have been started.
    package func keepsItsEnd() async throws {
        let receiver = LinkRecorder()
        start(receiver)
        disconnect()
        disconnect()
        let reason = await receiver.untilEnd().reason
        try RadioBreach.unless(reason?.kind == .closedLocally, "it ends as \(reason as Any)")
        try RadioBreach.unless(send([0x0A, 1, 0]) == .ended, "a PDU is taken after the end")
        disconnect()
        try RadioBreach.unless(receiver.ends == 1, "the end is told \(receiver.ends) times")
    }

    /// Sends when there is room.
    fileprivate func sendWhole(_ pdu: [UInt8], _ receiver: LinkRecorder) async throws {
        while true {
            switch send(pdu) {
            case .sent: return
            case .ended: throw RadioBreach("the link ended while it was in use")
            case .full: await receiver.room()
            }
        }
    }
}
