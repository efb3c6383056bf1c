import Leases
import Testing

@Suite("Any input")
struct MachineInputTests {
    @Test("Whatever comes, a machine doesn't trap, keeps its bounds, and is deterministic", arguments: 0..<40)
    func anything(seed: Int) {
        var terms = LeaseTerms()
        terms.capacity = 5
        var random = LeaseRandom(seed: UInt64(seed))
        var machine = LeaseMachine(gateway: GatewayID(rawValue: 1), stored: 0, seed: 3, terms: terms)
        var twin = machine
        var now: Milliseconds = 0
        var last: [LeaseMessage] = []
        for _ in 0..<2000 {
            now += random.below(random.below(20) == 0 ? 100_000 : 2000)
            let input = any(&random, last)
            let effects = machine.handle(input, at: now)
            #expect(twin.handle(input, at: now) == effects)
            last = Array((last + effects.publish.map(\.message)).suffix(6))
            #expect(machine.peripherals <= 5 && machine.watchedGateways <= 5)
        }
        #expect(machine == twin)
    }

    /// An input that may be right, and one that may be anything.
    private func any(_ random: inout LeaseRandom, _ last: [LeaseMessage]) -> LeaseInput {
        let peripheral = PeripheralID(rawValue: UInt64(random.below(8)))
        let session = SessionID(rawValue: UInt64(random.below(3)))
        let mark = Mark(session: session, sequence: UInt32(random.below(5)))
        let number = random.below(4) == 0 ? random.next() : UInt64(random.below(2000))
        let epoch = Epoch(number: number, gateway: GatewayID(rawValue: UInt64(random.below(4))))
        switch random.below(15) {
        case 0...2: return .heard(peripheral, strength: Int(truncatingIfNeeded: random.next()))
        case 3: return .connected(session)
        case 4: return random.below(4) == 0 ? .disconnected : .timer(.link)
        case 5: return .subscribed(peripheral)
        case 6, 7:
            let after = random.below(2) == 0 ? nil : mark
            let state = random.below(3) == 0 ? LeaseRecord.State.released(to: epoch.gateway) : .held
            let record = LeaseRecord(epoch: epoch, mark: mark, after: after, strength: -50, state: state)
            return .message(peripheral, .record(record), isRetained: random.below(3) == 0)
        case 8: return .message(peripheral, .note(epoch), isRetained: false)
        case 9: return .gone(epoch.gateway, session)
        case 10: return .pulsed(UInt64(random.below(400)))
        case 11: return random.below(2) == 0 ? .stored(number) : .storeFailed
        case 12:
            guard let message = last.first else { return .timer(.link) }
            return .message(peripheral, message, isRetained: false)
        case 13:
            let mine: [Mark] = last.compactMap { if case .record(let record) = $0 { record.mark } else { nil } }
            return .refused(peripheral, mine.last ?? mark)
        default: return .timer(.peripheral(peripheral))
        }
    }
}
