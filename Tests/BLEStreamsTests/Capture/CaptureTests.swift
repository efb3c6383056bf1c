import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct CaptureTests {
    @Test func `both directions are recorded in order, with addresses, times and the end`() async throws {
        let records = try await recorded { capture, bench in
            let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                _ = try await link.read(Bench.long)
                try await link.write([4, 5], to: Bench.readable, .withoutResponse)
            }
            // What the air carried, and in which direction, is known from the air itself.
            let air = bench.air.trace.compactMap { record -> Packet? in
                guard case .pdu(let octets, let sender, .delivered) = record.event else { return nil }
                return Packet(isSent: sender == .central, pdu: octets)
            }
            return (air, bench.centralAdapter.address, bench.peripheralAdapter.address)
        }
        let (air, own, peer) = records.facts
        #expect(air.count > 10 && records.file.compactMap(Packet.init) == air)
        let newIndex = try #require(records.file.first { $0.opcode == .newIndex })
        #expect(newIndex.data.dropFirst(2).prefix(6).elementsEqual(own.littleEndianOctets))
        let events = records.file.filter { $0.opcode == .event }.map { Array($0.data) }
        // LE Connection Complete as central with the random address, then Disconnection Complete by this host.
        #expect(events.first?.prefix(8) == [0x3E, 19, 0x01, 0x00, 0x01, 0x00, 0x00, 0x01])
        #expect(events.first?.dropFirst(8).prefix(6) == peer.littleEndianOctets[...])
        #expect(events.dropFirst() == [[0x05, 4, 0x00, 0x01, 0x00, 0x16]])
        #expect(records.file.map(\.time) == records.file.map(\.time).sorted())
        #expect(records.file.allSatisfy { $0.time >= VirtualTime.beginning.sinceEpoch })
    }

    @Test func `a peripheral's links are recorded from its side`() async throws {
        let records = try await recorded { capture, bench in
            let (peripheral, central) = (bench.air.adapter(), bench.air.adapter())
            let radio = CaptureRadio(peripheral, capture: capture)
            try await Bench.description.run(on: radio) { _ in
                try await Central.open(.radio(central)).peripheral(peripheral.address).withLink { link in
                    _ = try await link.read(.handle(3))
                }
            }
            return central.address
        }
        let complete = try #require(records.file.first { $0.opcode == .event }).data
        // The role behind the handle, then the kind of the peer's address.
        #expect(complete.dropFirst(6).first == 1)
        #expect(complete.dropFirst(8).prefix(6).elementsEqual(records.facts.littleEndianOctets))
        // Exchange MTU, Read: the requests were received.
        #expect(records.file.compactMap(Packet.init).map(\.isSent) == [false, true, false, true])
    }

    @Test func `what concerns the adapter alone passes through`() async throws {
        _ = try await recorded { capture, bench in
            let central = try await Central.open(.radio(CaptureRadio(bench.centralAdapter, capture: capture)))
            try await central.selectPHYs(AdapterPHYs.Selection([.le1M]))
            let phys4 = try await central.adapterPHYs()
            #expect(phys4.selected == AdapterPHYs.Selection([.le1M]))
        }
    }

    @Test func `two radios share a file with one header`() async throws {
        let records = try await recorded { capture, bench in
            for _ in 1...2 {
                let radio = CaptureRadio(bench.air.adapter(name: "sim"), capture: capture)
                let central = try await Central.open(.radio(radio))
                try await central.peripheral(bench.peripheralAdapter.address).withLink { _ in }
            }
        }
        #expect(records.file.filter { $0.opcode == .newIndex }.map(\.index) == [0, 1])
        #expect(Set(records.file.filter { $0.opcode == .dataSent }.map(\.index)) == [0, 1])
    }

    @Test func `both roles of one adapter are recorded as one adapter, and each link has its own handle`()
        async throws
    {
        let records = try await recorded { capture, bench in
            let choice = AdapterChoice.radio(bench.centralAdapter).captured(in: capture)
            let visitor = try await Central.open(.radio(bench.air.adapter()))
            try await Bench.description.run(on: choice) { _ in
                try await visitor.peripheral(bench.centralAdapter.address).withLink { _ in
                    try await Central.open(choice).peripheral(bench.peripheralAdapter.address).withLink { _ in }
                }
            }
        }
        #expect(records.file.count { $0.opcode == .newIndex } == 1)
        // LE Connection Complete: the handle, then the role.
        let links = records.file.filter { $0.opcode == .event && $0.data.dropFirst(2).first == 0x01 }
        #expect(links.map { Array($0.data.dropFirst(4).prefix(3)) } == [[1, 0, 1], [2, 0, 0]])
    }

    @Test func `an adapter that has another one's number gets its own`() async throws {
        let records = try await recorded { capture, bench in
            for name in ["sim", "sim1", "sim1"] {
                let central = try await Central.open(.radio(bench.air.adapter(name: name)).captured(in: capture))
                try await central.peripheral(bench.peripheralAdapter.address).withLink { _ in }
            }
        }
        #expect(records.file.filter { $0.opcode == .newIndex }.map(\.index) == [0, 1, 2])
    }

    @Test func `advertisements are recorded as the events that a controller tells them by`() async throws {
        let records = try await recorded { capture, bench in
            let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
            let found = try await central.scan().first()
            return (found.address, found.advertisement.bytes, found.rssi)
        }
        let (address, data, rssi) = records.facts
        let event = try #require(records.file.first { $0.opcode == .event }).data
        // LE Advertising Report: one, connectable, from a random address.
        #expect(event.dropFirst().first == UInt8(12 + data.count))
        #expect([event.first] + event.dropFirst(2).prefix(4).map(Optional.some) == [0x3E, 0x02, 1, 0, 1])
        #expect(event.dropFirst(6).prefix(6).elementsEqual(address.littleEndianOctets))
        #expect(event.dropFirst(12).first == UInt8(data.count) && event.dropFirst(13).dropLast().elementsEqual(data))
        #expect(event.last == rssi.map { UInt8(bitPattern: Int8($0)) })
    }

    @Test func `a recording without any link is a file all the same`() async throws {
        let records = try await recorded { _, _ in }
        #expect(records.file.isEmpty)
    }

    @Test func `a PDU that the radio does not take is not in the file`() async throws {
        try await withCapture { capture, path in
            let link = FakeLink(answers: [.full, .sent, .ended])
            let captured = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
            #expect(captured.send([1]) == .full)
            #expect(captured.send([2]) == .sent)
            #expect(captured.send([3]) == .ended)
            try await capture.close()
            #expect(try records(of: path).compactMap(Packet.init) == [Packet(isSent: true, pdu: [2])])
        }
    }

    @Test func `an answer that comes while its request is being sent stands behind it`() async throws {
        try await withCapture { capture, path in
            let link = FakeLink(answers: [.sent])
            defer { link.end() }
            let captured = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
            let receiver = Listener()
            captured.start(receiver)
            link.whileSending = { link.receive([0x0B, 7]) }
            #expect(captured.send([0x0A, 1, 0]) == .sent)
            try await capture.close()
            #expect(
                try records(of: path).compactMap(Packet.init) == [
                    Packet(isSent: true, pdu: [0x0A, 1, 0]), Packet(isSent: false, pdu: [0x0B, 7]),
                ]
            )
            #expect(receiver.received == [[0x0B, 7]])
        }
    }

    @Test func `PDUs that the kernel dropped are noted where they would stand`() async throws {
        try await withCapture { capture, path in
            let link = FakeLink(answers: [])
            defer { link.end() }
            let captured = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
            let receiver = Listener()
            captured.start(receiver)
            link.drop(12)
            link.receive([0x1B, 1, 0, 9])
            try await capture.close()
            let records = try records(of: path)
            let note = try #require(records.lastIndex { $0.opcode == .systemNote })
            #expect(String(decoding: records[note].data, as: UTF8.self).contains("12 PDUs"))
            #expect(records[note + 1].opcode == .dataReceived)
            #expect(receiver.dropped == 12)
        }
    }

    @Test func `what the kernel dropped is counted in every record behind it, and is no fault of the recording`()
        async throws
    {
        try await withCapture { capture, path in
            let link = FakeLink(answers: [])
            defer { link.end() }
            let captured = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
            captured.start(Listener())
            link.receive([0x1B, 1, 0, 8])
            link.drop(12)
            link.receive([0x1B, 1, 0, 9])
            link.drop(3)
            link.receive([0x1B, 1, 0, 10])
            // Without an error: the file has all that came.
            try await capture.close()
            let records = try records(of: path).drop { $0.opcode != .dataReceived }
            #expect(records.map(\.drops) == [0, 12, 12, 15, 15])
        }
    }

    @Test func `a file that can't be made is named, with the errno`() {
        let error = #expect(throws: BLEError.self) { try TrafficCapture(file: "/no/such/folder/x.btsnoop") }
        #expect(error?.code == .systemFailure && error?.systemError == ENOENT)
        #expect(error?.object.contains("/no/such/folder/x.btsnoop") == true)
    }

    @Test func `a full disk ends the recording and not the link`() async throws {
        let capture = try TrafficCapture(file: "/dev/full")
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                try await link.expect(Bench.readOnly, reads: [7])
            }
        }
        let error = await bleError { try await capture.close() }
        #expect(error?.code == .systemFailure && error?.systemError == ENOSPC)
        try await capture.close()
    }

    @Test func `a disk that does not follow costs PDUs, never time, and the file says how many`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID())").path
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        // Open before the capture is, which waits for a reader.
        let disk = SlowDisk(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
        let capture = try TrafficCapture(file: path)
        let link = FakeLink(answers: [])
        defer { link.end() }
        let captured = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
        let receiver = Listener()
        captured.start(receiver)
        let (count, size) = (50_000, 500)
        for _ in 0..<count { link.receive([0x1B] + [UInt8](repeating: 0, count: size - 1)) }
        #expect(receiver.received.count == count)

        // When the disk has taken so much, there is room again.
        await disk.work(until: 16 << 20)
        link.receive([0x1B])
        async let octets = disk.finish()
        let error = await bleError { try await capture.close() }
        let records = try decoded(await octets)
        let kept = records.filter { $0.opcode == .dataReceived }.count - 1
        #expect(kept < count && kept * size > 15 << 20)
        let notes = records.filter { $0.opcode == .systemNote }.map { String(decoding: $0.data, as: UTF8.self) }
        #expect(notes.compactMap { Int($0.prefix { $0.isNumber }) }.reduce(0, +) == count - kept)
        #expect(error?.code == .overflow && error?.cause.contains(" \(count - kept) packets") == true)
    }
}
