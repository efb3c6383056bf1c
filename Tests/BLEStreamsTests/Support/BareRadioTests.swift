import BLEProtocol
import BLERadio
import RadioContract
import RadioDoubles
import Testing

/// A radio of somebody's own that does what it must and no more: what it leaves out fails with what to do.
@Suite(.timeLimit(.minutes(10))) struct BareRadioTests {
    private struct Bare: IdleRadio {}

    private let radio = Bare()
    private let link = FakeLink(answers: [])

    private func failure<Value: Sendable>(
        _ start: (@escaping @Sendable (Result<Value, BLEError>) -> Void) -> RadioActivity
    ) async -> BLEError? {
        guard case .failure(let error) = await Events(start).next() else { return nil }
        return error
    }

    private func expectNotSupported(_ failures: [BLEError?]) {
        for failure in failures {
            #expect(failure?.code == .notSupported)
            #expect(
                failure.map { !$0.operation.isEmpty && !$0.cause.isEmpty && !$0.remedy.isEmpty } == true,
                "\(String(describing: failure))"
            )
        }
    }

    @Test func `an adapter's settings are not its program's to change`() async {
        let none = AdapterPrivacy(isOn: false)
        expectNotSupported([
            await failure { radio.setPowered(true, result: $0) },
            await failure { radio.setPowered(false, result: $0) },
            await failure { radio.reset(result: $0) },
            await failure { radio.readPHYs(result: $0) },
            await failure { radio.selectPHYs(AdapterPHYs.Selection([.le1M]), result: $0) },
            await failure { radio.readPrivacy(result: $0) },
            await failure { radio.setPrivacy(none, result: $0) },
        ])
    }

    @Test func `it pairs with nobody, and has no bonds to bring back`() async throws {
        let peer = link.peer
        let reception = PairingReception(.noInputNoOutput) { _ in .justWorks }
        let ended = await Events { radio.receivePairings(reception, events: $0) }.first { event -> BLEError? in
            if case .ended(let error) = event { error } else { nil }
        }
        expectNotSupported([
            await failure { radio.pair(with: peer, asking: .justWorks, result: $0) },
            await failure { radio.makeOutOfBandData(result: $0) },
            await failure { radio.restore([Bond.planted(1, with: peer)], result: $0) },
            await failure { radio.unpair(peer, result: $0) },
            ended,
        ])
        try await Events { radio.restore([], result: $0) }.next()?.get()
        radio.expectPairing(with: peer, as: .noInputNoOutput)
    }

    @Test func `nothing is ever outstanding, in the way, or told`() async {
        #expect(await Events<Void> { yield in radio.settle { yield(()) } }.next() != nil)
        #expect(!radio.hasLink(to: link.peer) && radio.connectObstacle == nil && radio.executor == nil)
        #expect(!radio.isLinked && radio.pairingObstacle == nil)
        let symptoms = Events { radio.observeSymptoms($0) }
        symptoms.activity.cancel()
        #expect(symptoms.count == 0)
    }

    @Test func `an advertisement that can't be changed, or is over, is not changed, and says what to do`() async {
        let activity = radio.advertise(AdvertiseRequest([.localName("a")])) { _ in }
        let change: @Sendable (@escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity = { result in
            activity.change(to: AdvertiseRequest([.localName("b")]), result: result)
            return RadioActivity {}
        }
        expectNotSupported([await failure(change)])
        activity.cancel()
        let failure = await failure(change)
        #expect(failure?.code == .ended && failure?.remedy.isEmpty == false)
    }

    @Test func `a link says how strong it is, and is neither changed nor encrypted`() async {
        let link = link
        let conditions = await Events<LinkConditions> {
            link.readConditions($0)
            return RadioActivity {}
        }.next()
        #expect(conditions == LinkConditions())
        let interview = PairingInterview.justWorks
        expectNotSupported([
            await failure {
                link.request(.balanced, $0)
                return RadioActivity {}
            },
            await failure {
                link.encrypt($0)
                return RadioActivity {}
            },
            await failure { link.raise(to: .encrypted, asking: interview, result: $0) },
        ])
        let (changes, security) = (
            Events { link.observeConditions($0) }, Events<Void> { yield in link.observeSecurity { yield(()) } }
        )
        changes.activity.cancel()
        security.activity.cancel()
        #expect(!link.hasKey && changes.count == 0 && security.count == 0)
    }
}
