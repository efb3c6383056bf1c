import BLEProtocol
import BLESimulator
import Testing

@testable import BLEStreams

/// The order in which a session's transitions, and its returns, are told.
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

    @Test func `a link that is lost before the session was ready makes the next one no return`() async throws {
        let diary = EventTests.Diary()
        try await Bench.run { bench in
            // The first one is the exchange of the MTU.
            bench.air.faults.add(.dropLink(insteadOf: .requests).skipping(1).times(1))
            let central = try await Central.open(.radio(bench.centralAdapter).reporting(to: diary))
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            let plan = Session.Plan(peripheral).subscribing(to: Bench.notifying)
            try await central.withSession(plan) { try await $0.ready() }
        }
        let returns = diary.all.filter { if case .reconnected = $0.kind { true } else { false } }
        #expect(diary.all.filter { if case .disconnected = $0.kind { true } else { false } }.count == 2)
        #expect(returns.isEmpty, "\(diary.words)")
    }
}
