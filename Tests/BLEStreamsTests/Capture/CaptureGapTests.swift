import BLEProtocol
import BLERadio
import Foundation
import Testing

@testable import BLEStreams

/// What a recording says about packets that there was no room for.
@Suite(.timeLimit(.minutes(10))) struct CaptureGapTests {
    private let pdu: [UInt8] = [0x1B] + [UInt8](repeating: 0, count: 499)

    /// What records advertisements to a capture, and an advertisement.
    private func recording(to capture: TrafficCapture) -> (CaptureRecorder, AdvertisingReport) {
        let link = FakeLink(answers: [])
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        let data = AdvertisingData(bytes: [])
        let report = AdvertisingReport(address: link.peer, rssi: -50, isConnectable: true, data: data, time: time)
        return (CaptureRecorder(capture, timeline: FakeRadio(link).timeline), report)
    }

    @Test func `a packet without room is counted in every record behind it, and reported once`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID()).btsnoop").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let record = BTSnoopRecord(opcode: .event, index: 0, time: .zero, data: [1]).encoded
        let file = try CaptureFile(path)
        file.appendWhole(BTSnoopHeader(datalink: .linuxMonitor).encoded)
        let before = file.append(packet: record)
        let large = file.append(packet: [UInt8](repeating: 0, count: CaptureFile.room + 1))
        let behind = file.append(packet: record + record)
        #expect(before && !large && behind)
        let error = await bleError { try await file.close() }
        #expect(error?.code == .overflow && error?.operation == "capture" && error?.object == "to \(path)")
        #expect(error?.cause.contains(" 1 packets are missing") == true && error?.remedy.isEmpty == false)
        try await file.close()
        let records = try records(of: path)
        #expect(records.map(\.drops) == [0, 1, 1])
        #expect(records.map { Array($0.data) } == [[1], [1], [1]])
    }

    @Test func `a link that begins or ends while there is no room is in the file, and so is a gap at its end`()
        async throws
    {
        let path = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID())").path
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let disk = SlowDisk(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
        let capture = try TrafficCapture(file: path)
        let link = FakeLink(answers: [.sent, .full])
        let radio = CaptureRadio(FakeRadio(link), capture: capture)
        let first = try #require(await radio.link())
        first.start(Listener())
        let count = 40_000
        for _ in 0..<count { link.receive(pdu) }
        link.end()
        let second = try #require(await radio.link())
        // One that the radio doesn't take is not missing.
        #expect(second.send(pdu) == .sent && second.send(pdu) == .full)

        async let octets = disk.finish()
        let error = await bleError { try await capture.close() }
        let records = try decoded(await octets)
        let kept = records.count { $0.opcode == .dataReceived || $0.opcode == .dataSent }
        let missing = count + 1 - kept
        let received = records.count { $0.opcode == .dataReceived }
        #expect(received < count && error?.cause.contains(" \(missing) packets") == true)
        let events = records.filter { $0.opcode == .event }
        // The two links begin; between that, the first one ends.
        #expect(events.map { $0.data.first } == [0x3E, 0x05, 0x3E])
        #expect(events.map { $0.drops } == [0, UInt32(count - received), UInt32(count - received)])
        let last = try #require(records.last)
        #expect(last.opcode == .systemNote && last.drops == UInt32(missing))
        #expect(String(decoding: last.data, as: UTF8.self).contains(" \(missing) packets"))
    }

    @Test func `lost advertisements are noted as soon as there is room for the note`() async throws {
        try await withCapture { capture, path in
            let (recorder, report) = recording(to: capture)
            recorder.reported([report])
            // More waits than there is room for, and nothing of it can be written yet.
            let vital = BTSnoopRecord(opcode: .event, index: 0, time: .zero, data: [UInt8](repeating: 0, count: 16_384))
            let place = try #require(capture.file.reserve([UInt8](repeating: 0, count: CaptureFile.room - 8192)))
            let hadRoom = capture.file.append(packet: vital.encoded, isVital: true)
            #expect(hadRoom)
            recorder.reportsLost(7)
            recorder.reported([report])
            capture.file.settle(place, isKept: false)
            recorder.reported([report])
            let error = await bleError { try await capture.close() }
            #expect(error?.cause.contains(" 1 packets are missing") == true)
            let records = try records(of: path)
            let notes = records.filter { $0.opcode == .systemNote }.map { String(decoding: $0.data, as: UTF8.self) }
            #expect(notes.contains("8 advertisements were not recorded\0"))
            // Seven that the radio lost, and one for which there was no room.
            #expect(records.filter { $0.opcode == .event }.map(\.drops) == [0, 0, 8])
        }
    }

    @Test func `advertisements that the kernel dropped are counted too`() async throws {
        try await withCapture { capture, path in
            let (recorder, report) = recording(to: capture)
            recorder.reported([report])
            recorder.reportsLost(7)
            recorder.reported([report])
            try await capture.close()
            let records = try records(of: path).drop { $0.opcode != .event }
            #expect(records.map(\.drops) == [0, 7, 7])
        }
    }
}
