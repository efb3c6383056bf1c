import Testing

@testable import BLEStreams

@Suite struct ListeningRoundTests {
    @Test func `it ends when all have heard the peripheral`() {
        var round = ListeningRound([0, 1])
        #expect(round.listens(0) == nil && round.listens(1) == ListeningRound.listening)
        #expect(round.hears(1) == ListeningRound.settling)
        // Once: it ends though one hears it all the time.
        #expect(round.hears(1) == nil)
        #expect(round.hears(0) == .zero)
        #expect(round.hears(0) == nil && round.listens(1) == nil && round.fails(1) == nil)
    }

    @Test func `one that hears it before the others listen waits for them`() {
        var round = ListeningRound([0, 1, 2])
        #expect(round.listens(0) == nil && round.hears(0) == nil && round.listens(2) == nil)
        #expect(round.listens(1) == ListeningRound.settling)
    }

    @Test func `one that can't listen is not waited for`() {
        var round = ListeningRound([0, 1])
        #expect(round.hears(0) == nil)
        #expect(round.fails(1) == .zero)
        round = ListeningRound([0, 1, 2])
        #expect(round.listens(0) == nil && round.listens(2) == nil)
        #expect(round.fails(1) == ListeningRound.listening)
        #expect(round.hears(2) == ListeningRound.settling)
        #expect(round.fails(0) == .zero)
        round = ListeningRound([0])
        #expect(round.fails(0) == .zero)
    }

    @Test func `who hears listens, whatever else it has said`() {
        var round = ListeningRound([0, 1])
        #expect(round.hears(0) == nil)
        #expect(round.hears(1) == .zero)
    }

    @Test func `a scan that ends and begins anew changes nothing`() {
        var round = ListeningRound([0, 1])
        #expect(round.listens(0) == nil && round.listens(1) == ListeningRound.listening)
        #expect(round.listens(0) == nil && round.listens(1) == nil)
    }
}
