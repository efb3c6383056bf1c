import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// The kernel's links keep the contract of all radios; here over sockets that need no adapter.
@Suite(.timeLimit(.minutes(10))) struct LinkContractTests {
    @Test(arguments: RadioClause.all(for: [.linking]))
    func `a link over a socket keeps it`(_ clause: RadioClause) async throws {
        let loop = try EventLoop(name: "contract")
        let (near, far) = try SocketPair.numbers()
        let central = PairRadio(socket: near, loop: loop)
        let peripheral = PairRadio(socket: far, loop: loop)
        try await clause.check(RadioStage(central: central, peripheral: peripheral, address: .example))
    }

    @Test func `a link without a controller has nothing to tell of it, and says what can't be done`() async throws {
        let loop = try EventLoop(name: "contract")
        let (near, far) = try SocketPair.numbers()
        let link = loop.link(takingOver: near, peer: .example, timeline: HandTimeline())
        let other = loop.link(takingOver: far, peer: .example, timeline: HandTimeline())
        let conditions = await Events<LinkConditions> { yield in
            link.readConditions(yield)
            return RadioActivity {}
        }.next()
        #expect(conditions == LinkConditions() && !link.hasKey)
        let request = await Events<Result<Void, BLEError>> { yield in
            link.request(.balanced, yield)
            return RadioActivity {}
        }.next()
        let raise = await Events { link.raise(to: .encrypted, asking: .justWorks, result: $0) }.next()
        guard case .failure(let unchanged) = request, case .failure(let unraised) = raise else {
            Issue.record("what can't be done was done")
            return
        }
        #expect(unchanged.code == .notSupported && !unchanged.remedy.isEmpty)
        #expect(unraised.operation == "pair" && !unraised.remedy.isEmpty)
        let (changes, keys) = (
            Events { link.observeConditions($0) }, Events<Void> { yield in link.observeSecurity { yield(()) } }
        )
        #expect(changes.count == 0 && keys.count == 0)
        link.disconnect()
        other.disconnect()
    }
}
