import BLESimulator
import BLEStreams

/// Something that goes wrong in a world, from one moment on.
struct PlannedFault: Sendable, CustomStringConvertible {
    /// Whom it concerns.
    enum Scope: Hashable, Sendable {
        case everywhere
        case central(Int)
        case peripheral(Int)
        case pair(Int, Int)
    }

    /// Which PDUs.
    enum PDUs: String, Sendable, CaseIterable {
        case requests, responses, notifications, indications, confirmations, writeRequests, readResponses, any

        var filter: PDUFilter {
            switch self {
            case .requests: .requests
            case .responses: .responses
            case .notifications: .notifications
            case .indications: .indications
            case .confirmations: .confirmations
            case .writeRequests: .writeRequests
            case .readResponses: .readResponses
            case .any: .any
            }
        }
    }

    enum Kind: Sendable {
        case losesLinks(every: Duration, DisconnectReason.Kind)
        case dropsLink(after: Int, PDUs, DisconnectReason.Kind)
        case swallows(PDUs, skipping: Int, times: Int)
        case delays(PDUs, by: Duration, skipping: Int, times: Int)
        case duplicates(PDUs, skipping: Int, times: Int)
        case corrupts(PDUs, skipping: Int, times: Int)
        case holds(PDUs, times: Int)
        case overflows(skipping: Int, times: Int)
        case refuses(UInt8, skipping: Int, times: Int)
        case outOfRange(lasting: Duration)
        case adapter(AdapterInfo.State, lasting: Duration)
        case refusesConnections(Int, DisconnectReason.Kind)
        case ignoresConnections(lasting: Duration)
        case delaysConnections(by: Duration)
        case neverEstablishes(Int, of: Int)
        case missesAdvertisements(percent: Int)
        case deaf
        case hangs
        /// The adapter has lost its keys, as after a reset to the factory's state; a peripheral keeps nothing else either.
        case forgetsBonds
    }

    let number: Int
    let kind: Kind
    let scope: Scope
    let begin: Duration

    init(_ number: Int, seed: UInt64, peripherals: Int, centrals: Int, length: Duration) {
        var chance = Chance(seed, 0x3000 + UInt64(number))
        self.number = number
        kind = Self.kind(&chance)
        // Most programs are busiest at the beginning.
        begin = .milliseconds(chance.below(1 + chance.below(Int(length.components.seconds) * 1000)))
        let (central, peripheral) = (chance.below(centrals), chance.below(peripherals))
        switch chance.below(5) {
        case 0: scope = .everywhere
        case 1: scope = .central(central)
        case 2: scope = .pair(central, peripheral)
        default: scope = .peripheral(peripheral)
        }
    }

    private static let reasons: [DisconnectReason.Kind] = [
        .supervisionTimeout, .closedByPeer, .failedToEstablish, .authenticationFailed, .keyMissing, .other,
    ]

    private static func kind(_ chance: inout Chance) -> Kind {
        let (skipped, times) = (chance.below(12), chance.within(1...3))
        let (pdus, reason) = (chance.any(of: PDUs.allCases), chance.any(of: reasons))
        switch chance.below(21) {
        case 0, 1: return .losesLinks(every: chance.seconds(5...120), reason)
        case 2: return .dropsLink(after: chance.below(40), pdus, reason)
        case 3: return .swallows(pdus, skipping: skipped, times: times)
        case 4: return .delays(pdus, by: chance.seconds(0...40), skipping: skipped, times: times)
        case 5: return .duplicates(pdus, skipping: skipped, times: times)
        case 6: return .corrupts(pdus, skipping: skipped, times: times)
        case 7: return .holds(pdus, times: times)
        case 8: return .overflows(skipping: skipped, times: times)
        case 9:
            return .refuses(
                UInt8(chance.any(of: [1, 2, 3, 5, 6, 8, 10, 14, 15, 17, 0x80])),
                skipping: skipped,
                times: times
            )
        case 10, 11: return .outOfRange(lasting: chance.seconds(1...60))
        case 12, 13:
            let states: [AdapterInfo.State] = [.poweredOff, .blocked, .absent, .resetting]
            return .adapter(chance.any(of: states), lasting: chance.seconds(0...40))
        case 14: return .refusesConnections(chance.within(1...6), reason)
        case 15: return .ignoresConnections(lasting: chance.seconds(1...60))
        case 16: return .delaysConnections(by: chance.seconds(1...20))
        case 17: return .neverEstablishes(chance.within(1...3), of: 4)
        case 18: return .missesAdvertisements(percent: chance.within(10...95))
        case 19: return .forgetsBonds
        default: return chance.onceIn(2) ? .deaf : .hangs
        }
    }

    /// The name of its kind, for what a world has reached.
    var family: String { "\(kind)".prefix { $0.isLetter }.description }

    var description: String { "f\(number): at \(begin), \(scope): \(kind)" }
}

extension PlannedFault {
    /// The rule for the air; `nil` where it is an adapter that has it.
    var fault: Fault? {
        switch kind {
        case .losesLinks(let mean, let reason): .loseLinks(every: mean, reason: reason)
        case .dropsLink(let count, let pdus, let reason): .dropLink(after: count, pdus.filter, reason: reason)
        case .swallows(let pdus, let skipped, let times): .swallow(pdus.filter).skipping(skipped).times(times)
        case .delays(let pdus, let delay, let skipped, let times):
            .delay(pdus.filter, by: delay).skipping(skipped).times(times)
        case .duplicates(let pdus, let skipped, let times): .duplicate(pdus.filter).skipping(skipped).times(times)
        case .corrupts(let pdus, let skipped, let times): .corrupt(pdus.filter).skipping(skipped).times(times)
        case .holds(let pdus, let times): .hold(pdus.filter, behind: 1, atMost: .seconds(2)).times(times)
        case .overflows(let skipped, let times): .overflow(.notifications).skipping(skipped).times(times)
        case .refuses(let code, let skipped, let times):
            .replace(.responses) { Self.refusal($0, code) }.skipping(skipped).times(times)
        case .outOfRange(let time): .outOfRange(lasting: time)
        case .refusesConnections(let count, let reason): .refuseConnections(count, reason: reason)
        case .ignoresConnections: .ignoreConnections
        case .delaysConnections(let delay): .delayConnections(by: delay)
        case .neverEstablishes(let count, let total): .neverEstablish(count, of: total)
        case .missesAdvertisements(let percent): .missAdvertisements(Double(percent) / 100)
        case .adapter, .deaf, .hangs, .forgetsBonds: nil
        }
    }

    /// For how long its rule holds; `nil`: until the world is mended.
    var lasting: Duration? { if case .ignoresConnections(let time) = kind { time } else { nil } }

    /// An Error Response to the request that this is the response to.
    private static func refusal(_ response: [UInt8], _ code: UInt8) -> [UInt8] {
        let request = response.first == 0x01 && response.count > 1 ? response[1] : (response.first ?? 0) &- 1
        return [0x01, request, 0, 0, code]
    }
}
