import BLEProtocol

extension FuzzTarget {
    /// A file that is replayed: whatever it says, the script is made, served, and asked in whatever way.
    static let recording = FuzzTarget("recording", longest: 2048, seeds: recordingSeeds) { octets in
        guard let traffic = CaptureReader.traffic(in: octets) else { return }
        let times = traffic.advertisements.map(\.time)
        try require(times == times.sorted(), "advertisements are not in the order of their times")
        _ = (traffic.begin, traffic.end)
        try FuzzTarget.redact(traffic)
        for device in RecordedDevice.devices(of: traffic) {
            var server = RecordedServer(device)
            for round in 0..<2 {
                server.linkBegan(now: .seconds(round))
                // What the recorded central asked, then the file itself.
                let asked = traffic.links.flatMap(\.pdus).filter { !$0.isFromPeripheral }.map(\.octets)
                for pdu in asked.prefix(64) + [Array(octets.suffix(8)), []] {
                    let answer = server.received(pdu, now: .seconds(round))
                    try require((answer?.count ?? 1) <= 517, "an answer is longer than an ATT_MTU")
                }
                for pdu in server.poll(now: .seconds(1 << 40)) { try require(pdu.count <= 517, "a value is too long") }
            }
        }
    }

    /// A recording without values keeps the lengths and the opcodes.
    private static func redact(_ traffic: CapturedTraffic) throws {
        for link in traffic.links {
            var redactor = ATTRedactor()
            for pdu in link.pdus {
                let (octets, isStructure) = redactor.redact(pdu.octets, isSent: !pdu.isFromPeripheral)
                try require(octets.count == pdu.octets.count && octets.first == pdu.octets.first, "\(octets) is cut")
                try require(!isStructure || octets == pdu.octets, "a structure is changed to \(octets)")
            }
        }
        for advertisement in traffic.advertisements {
            let cleared = redacted(advertising: advertisement.data)
            try require(cleared.count == advertisement.data.count, "an advertisement is cut")
            let types = AdvertisingData(bytes: advertisement.data).map { $0.type }
            try require(AdvertisingData(bytes: cleared).map { $0.type } == types, "other fields: \(cleared)")
        }
    }

    private static let recordingSeeds: [[UInt8]] = {
        let time = ReceptionTime(sinceEpoch: .seconds(1), source: .kernel)
        guard let peer = BluetoothAddress("C4:F2:17:1A:1D:BB/random") else { return [] }
        var capture = ATTCapture(index: 0)
        var octets = capture.opening(adapter: peer, name: "hci0", time: time)
        octets += capture.advertised(by: peer, isConnectable: true, rssi: -60, data: [2, 1, 6], time: time)
        guard let (link, opened) = capture.linkOpened(peer: peer, role: .central, time: time) else { return [] }
        octets += opened
        let exchange: [(sent: [UInt8], received: [UInt8])] = [
            ([0x02, 0xF7, 0], [0x03, 0xF7, 0]),
            ([0x10, 1, 0, 0xFF, 0xFF, 0, 0x28], [0x11, 6, 1, 0, 9, 0, 0x0F, 0x18]),
            ([0x08, 1, 0, 9, 0, 3, 0x28], [0x09, 7, 2, 0, 0x12, 3, 0, 0x19, 0x2A]),
            ([0x04, 4, 0, 9, 0], [0x05, 1, 4, 0, 2, 0x29]), ([0x0A, 3, 0], [0x0B, 90]),
            ([0x12, 4, 0, 1, 0], [0x13]), ([0x0A, 9, 0], [0x01, 0x0A, 9, 0, 0x05]),
        ]
        for (sent, received) in exchange {
            octets += capture.sent(sent, on: link, time: time) + capture.received(received, on: link, time: time)
        }
        octets += capture.received([0x1B, 3, 0, 89], on: link, time: time)
        let whole = octets + capture.received([0x1D, 3, 0, 88], on: link, time: time)
        return [whole, whole + capture.linkClosed(link, status: 0x13, time: time), Array(whole.dropLast(5))]
    }()
}
