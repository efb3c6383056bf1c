import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Links that come too late for their callers: they are given up before anybody starts them, and tell no end.
@Suite(.timeLimit(.minutes(10))) struct UnusedLinkTests {
    /// Gives up a link that nobody has started.
    private static func giveUp(_ radio: CaptureRadio) async throws {
        let link = try #require(await radio.link())
        link.disconnect()
        link.disconnect()
    }

    @Test func `their ends are in the file, and a link behind as many as there are handles is recorded still`()
        async throws
    {
        try await withCapture { capture, path in
            let link = FakeLink(answers: [.sent])
            let radio = CaptureRadio(FakeRadio(link), capture: capture)
            let handles = 0x0EFF
            for _ in 0..<handles { try await Self.giveUp(radio) }
            let used = try #require(await radio.link())
            used.start(Listener())
            #expect(used.send([0x0A, 3, 0]) == .sent)
            used.disconnect()
            link.end()
            try await capture.close()
            let records = try records(of: path)
            let events = records.filter { $0.opcode == .event }.map { $0.data.first }
            #expect(events.count == 2 * (handles + 1))
            #expect(events.prefix(4) == [0x3E, 0x05, 0x3E, 0x05] && events.suffix(2) == [0x3E, 0x05])
            #expect(records.compactMap(Packet.init) == [Packet(isSent: true, pdu: [0x0A, 3, 0])])
        }
    }

    @Test func `nothing of one is recorded behind its end`() async throws {
        try await withCapture { capture, path in
            let link = FakeLink(answers: [.sent])
            let late = try #require(await CaptureRadio(FakeRadio(link), capture: capture).link())
            late.disconnect()
            late.start(Listener())
            link.receive([0x1B, 3, 0, 7])
            #expect(late.send([0x0A, 3, 0]) == .sent)
            link.end()
            try await capture.close()
            let records = try records(of: path).filter { $0.opcode != .systemNote }
            #expect(records.suffix(2).map(\.opcode) == [.event, .event])
            #expect(records.suffix(2).map { $0.data.first } == [0x3E, 0x05])
        }
    }

    @Test func `no end is told of a link that nobody was told of`() async throws {
        let diary = EventTests.Diary()
        let link = FakeLink(answers: [])
        let radio = FakeRadio(link)
        let tap = EventTap(radio.timeline)
        tap.tell(EventBoard([diary], radio.timeline))
        let observed = CaptureRadio(radio, tap)
        try await Self.giveUp(observed)
        #expect(diary.all.isEmpty)
        let used = try #require(await observed.link())
        used.start(Listener())
        link.end()
        let kinds = diary.all.map(\.kind)
        #expect(kinds.count == 1)
        guard case .disconnected(let reason, after: _)? = kinds.first else {
            Issue.record("\(diary.words)")
            return
        }
        #expect(reason.kind == .closedByPeer)
    }
}
