import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// What a radio reports of a link, as the handlers of events are told of it.
@Suite(.timeLimit(.minutes(10))) struct EventTapTests {
    @Test func `a signal strength that comes behind the end of its link is told of nobody`() throws {
        let (link, page, diary) = (FakeLink(answers: []), MetricsPage(), EventTests.Diary())
        let timeline = FakeRadio(link).timeline
        let tap = EventTap(timeline)
        tap.tell(EventBoard([page, diary], timeline))
        let id = try #require(tap.linkOpened(link, .central))
        tap.measured(-60, id)
        tap.linkClosed(id, DisconnectReason(.closedByPeer))
        tap.measured(-50, id)
        let signals = diary.all.filter { if case .signal = $0.kind { true } else { false } }
        #expect(signals.map(\.peripheral) == [link.peer], "\(diary.words)")
        let lines = page.text.split(separator: "\n").filter { $0.hasPrefix("ble_rssi_dbm{") }
        #expect(lines == [#"ble_rssi_dbm{peripheral="C4:F2:17:1A:1D:BB"} -60"#])
    }

    /// Whoever sends may report it at the moment at which the link ends.
    @Test func `what was lost on a link is counted, also if that is told behind its end`() throws {
        let (link, diary) = (FakeLink(answers: []), EventTests.Diary())
        let timeline = FakeRadio(link).timeline
        let tap = EventTap(timeline)
        tap.tell(EventBoard([diary], timeline))
        let id = try #require(tap.linkOpened(link, .central))
        tap.linkClosed(id, DisconnectReason(.closedByPeer))
        let isNoted = tap.lost(3, id)
        let drops = diary.all.compactMap { event -> Int? in
            if case .dropped(let count) = event.kind { count } else { nil }
        }
        #expect(isNoted && drops == [3], "\(diary.words)")
    }
}
