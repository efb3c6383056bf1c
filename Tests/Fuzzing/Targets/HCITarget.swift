import BLEProtocol

extension FuzzTarget {
    /// What a controller says beside the kernel: advertising reports, whole and in pieces, and what becomes of links.
    static let hci = FuzzTarget("hci", longest: 768, seeds: hciSeeds) { octets in
        var input = FuzzInput(octets)
        var assembler = HCIReportAssembler()
        var links = LinkConditionTable()
        while !input.isAtEnd {
            // With the head of an event, so that what stands behind it is looked at.
            var packet: [UInt8] = input.chance() ? [0x04, 0x3E] : []
            let body = input.chunk()
            packet += packet.isEmpty ? body : [UInt8(truncatingIfNeeded: body.count)] + body
            let reports = HCIAdvertisingReport.reports(in: packet)
            try require(reports.count <= packet.count, "more reports than octets")
            for report in reports {
                guard let whole = assembler.add(report) else { continue }
                try require(whole.data.bytes.count <= 1650, "\(whole.data.bytes.count) octets of advertising data")
            }
            let event = HCILinkEvent(decoding: packet)
            try require(event == nil || !HCILinkEvent.endsAttempt(packet), "an attempt that failed has a link")
            if let event, let handle = links.received(event) {
                try require(links[handle] != nil, "a link without conditions")
            }
        }
        links.removeAll()
    }

    private static let hciSeeds: [[UInt8]] = {
        let address: [UInt8] = [0xBB, 0x1D, 0x1A, 0x17, 0xF2, 0xC4]
        let legacy: [UInt8] = [0x02, 1, 0, 1] + address + [3, 2, 1, 6, 0xC4]
        let head: [UInt8] = [0x0D, 1, 0x13, 0, 1] + address
        let extended = head + [1, 0, 0xFF, 0x7F, 0xC4, 0, 0, 0] + .init(repeating: 0, count: 6) + [3, 2, 1, 6]
        var piece = extended
        piece[3] = 0x20
        let events: [[UInt8]] = [
            legacy, extended, piece, [0x01, 0, 0x40, 0, 0, 1] + address + [24, 0, 0, 0, 72, 0, 0],
            [0x0A, 0, 0x40, 0, 0, 1] + address + .init(repeating: 0, count: 12) + [24, 0, 0, 0, 72, 0, 0],
            [0x03, 0, 0x40, 0, 24, 0, 0, 0, 72, 0], [0x04, 0, 0x40, 0] + .init(repeating: 0, count: 8),
            [0x07, 0x40, 0, 251, 0, 0, 8, 251, 0, 0, 8], [0x0C, 0, 0x40, 0, 2, 2],
        ]
        let packets = events.map { [1, UInt8($0.count)] + $0 }
        let gone: [UInt8] = [0, 7, 0x04, 0x05, 4, 0, 0x40, 0, 0x13]
        return packets + [packets.flatMap { $0 } + gone, packets[2] + packets[2] + packets[1]]
    }()
}
