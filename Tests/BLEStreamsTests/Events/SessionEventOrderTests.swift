import BLEProtocol
import BLESimulator
import Testing

@testable import BLEStreams

/// Transitions of one session that two threads cause at the same time: its driver and the program.
@Suite(.timeLimit(.minutes(10))) struct SessionEventOrderTests {
    @Test func `each state is told to the handlers of events once, in the order of the transitions`() async throws {
        let diary = EventTests.Diary()
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter).reporting(to: diary))
            let session = central.session(Session.Plan(central.peripheral(bench.peripheralAdapter.address)))
            // What another thread does before the handlers are told of the first one.
            let unwatch = session.board.watch { [weak session] step in
                guard let session, case .disconnected(.connecting) = step.state else { return }
                try? session.handle(.disconnect)
            }
            try session.handle(.connect)
            unwatch()
        }
        let states = diary.all.compactMap { event -> SessionState.Kind? in
            if case .session(let state) = event.kind { state.kind } else { nil }
        }
        #expect(states == [.connecting, .initial], "\(diary.words)")
    }
}
