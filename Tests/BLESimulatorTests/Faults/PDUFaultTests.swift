import BLEProtocol
import BLERadio
import BLESimulator
import Testing

private let readRequest: [UInt8] = [0x0A, 0x03, 0x00]
private let readResponse: [UInt8] = [0x0B, 0x2A]
private let writeResponse: [UInt8] = [0x13]

private func notification(_ number: UInt8) -> [UInt8] { [0x1B, 0x05, 0x00, number] }

@Suite(.timeLimit(.minutes(10))) struct PDUFaultTests {
    @Test func `a swallowed PDU never arrives, the others do`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let fault = pair.air.faults.add(.swallow(.readResponses).times(1), on: pair.peripheral)
            for pdu in [readResponse, notification(1), readResponse] { _ = pair.peripheralLink.send(pdu) }
            try await time.sleep(for: .seconds(60))
            #expect(pair.atCentral.pdus == [notification(1), readResponse])
            #expect(pair.air.faults.strikes(of: fault) == 1)
        }
    }

    @Test func `a peer that never answers goes on until the fault is taken back`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let fault = pair.air.faults.add(.swallow(.responses))
            for _ in 0..<5 { _ = pair.peripheralLink.send(readResponse) }
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus.isEmpty)
            pair.air.faults.remove(fault)
            _ = pair.peripheralLink.send(readResponse)
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus == [readResponse])
        }
    }

    @Test func `skipping lets the first occasions pass`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.swallow(.notifications).skipping(2).times(3))
            for number in 0..<8 as Range<UInt8> { _ = pair.peripheralLink.send(notification(number)) }
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus == [0, 1, 5, 6, 7].map { notification($0) })
        }
    }

    @Test func `a PDU whose delay ends while the link is silent arrives when it no longer is`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(4))
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            pair.air.faults.add(.delay(.readResponses, by: .seconds(1)))
            pair.air.faults.add(.hold(.notifications, behind: 9, atMost: .seconds(1)))
            for pdu in [readResponse, notification(1)] { #expect(pair.peripheralLink.send(pdu) == .sent) }
            try await time.sleep(for: .milliseconds(500))
            pair.air.faults.add(.outOfRange(lasting: .seconds(2)))
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.events.isEmpty)
            try await time.sleep(for: .seconds(2))
            #expect(Set(pair.atCentral.pdus) == [readResponse, notification(1)] && pair.atCentral.pdus.count == 2)
        }
    }

    @Test func `a delayed response is passed by what is sent behind it`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.delay(.readResponses, by: .seconds(5)))
            _ = pair.peripheralLink.send(readResponse)
            _ = pair.peripheralLink.send(notification(1))
            try await time.sleep(for: .milliseconds(4999))
            #expect(pair.atCentral.pdus == [notification(1)])
            try await time.sleep(for: .milliseconds(2))
            #expect(pair.atCentral.pdus == [notification(1), readResponse])
        }
    }

    @Test func `a notification overtakes the write response that it is held behind`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.hold(.writeResponses, behind: 2))
            for pdu in [writeResponse, notification(1), notification(2), notification(3)] {
                _ = pair.peripheralLink.send(pdu)
            }
            try await time.sleep(for: .milliseconds(1))
            #expect(pair.atCentral.pdus == [notification(1), notification(2), writeResponse, notification(3)])
            // Nothing follows: it comes when the limit is over.
            _ = pair.peripheralLink.send(writeResponse)
            try await time.sleep(for: .milliseconds(999))
            #expect(pair.atCentral.pdus.count == 4)
            try await time.sleep(for: .milliseconds(2))
            #expect(pair.atCentral.pdus.count == 5)
        }
    }

    @Test func `PDUs are duplicated, replaced and changed`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.duplicate(.opcode(0x1B, handle: 5), copies: 2).times(1))
            pair.air.faults.add(.replace(.readResponses, with: [0x01, 0x0A, 0x03, 0x00, 0x0E]))
            pair.air.faults.add(.replace(.where { $0.count == 1 }) { $0 + [0xFF] })
            for pdu in [notification(1), readResponse, writeResponse] { _ = pair.peripheralLink.send(pdu) }
            try await time.sleep(for: .seconds(1))
            #expect(
                pair.atCentral.pdus == [
                    notification(1), notification(1), notification(1), [0x01, 0x0A, 0x03, 0x00, 0x0E], [0x13, 0xFF],
                ]
            )
        }
    }

    @Test func `a corrupted PDU differs in one bit, the same for the same seed`() async throws {
        func corrupted(seed: UInt64) async throws -> [[UInt8]] {
            try await VirtualTime.run(seed: seed) { time in
                let pair = try await Conversation(time)
                pair.air.faults.add(.corrupt(.notifications))
                for number in 0..<10 as Range<UInt8> { _ = pair.peripheralLink.send(notification(number)) }
                try await time.sleep(for: .seconds(1))
                return pair.atCentral.pdus
            }
        }
        let first = try await corrupted(seed: 1)
        for (number, pdu) in first.enumerated() {
            let bits = zip(pdu, notification(UInt8(number))).map { ($0 ^ $1).nonzeroBitCount }.reduce(0, +)
            #expect(bits == 1)
        }
        #expect(try await corrupted(seed: 1) == first)
        #expect(try await corrupted(seed: 2) != first)
    }

    @Test func `an overflow is told to the receiver as a count`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.overflow(.notifications).skipping(1).times(3))
            for number in 0..<6 as Range<UInt8> { _ = pair.peripheralLink.send(notification(number)) }
            try await time.sleep(for: .seconds(1))
            let (before, behind) = ([notification(0)], [notification(4), notification(5)])
            // As on Linux, where the PDU behind a loss tells of it.
            #expect(pair.atCentral.events == [.received(before), .dropped(3), .received(behind)])
        }
    }

    @Test func `a fault for one side or one pair leaves the others alone`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let stranger = pair.air.adapter()
            pair.air.faults.add(.swallow(.any.sent(by: .central)), between: pair.central, and: pair.peripheral)
            pair.air.faults.add(.swallow(.any), on: stranger)
            pair.air.faults.add(.swallow(.any), between: pair.central, and: stranger)
            _ = pair.centralLink.send(readRequest)
            _ = pair.peripheralLink.send(readRequest)
            try await time.sleep(for: .seconds(1))
            #expect(pair.atPeripheral.pdus.isEmpty)
            #expect(pair.atCentral.pdus == [readRequest])
        }
    }

    @Test func `of several rules for one PDU the first decides, and only it strikes`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let first = pair.air.faults.add(.duplicate(.any).times(1))
            let second = pair.air.faults.add(.swallow(.any))
            for number in 0..<3 as Range<UInt8> { _ = pair.peripheralLink.send(notification(number)) }
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus == [notification(0), notification(0)])
            #expect(pair.air.faults.strikes(of: first) == 1)
            #expect(pair.air.faults.strikes(of: second) == 2)
            pair.air.faults.removeAll()
            _ = pair.peripheralLink.send(notification(9))
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus.last == notification(9))
        }
    }
}
