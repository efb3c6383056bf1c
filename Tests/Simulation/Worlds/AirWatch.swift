import BLESimulator
import BLEStreams
import Synchronization

/// What reached the centrals over the air, and whether requests kept their turn: the truth that programs are compared
/// with.
///
/// It hears of each PDU as it arrives, under the air's lock, and asks the air nothing.
final class AirWatch: Sendable {
    /// A value that reached a central.
    struct Arrival: Sendable {
        let value: NumberedValue
        let link: Int
        let time: Duration
        /// Whether it came as it was sent: not changed, nor another one in its place.
        let isCertain: Bool
    }

    /// Where a central's values of one characteristic come from.
    struct Route: Hashable, Sendable {
        let central: Int
        let peripheral: Int
        let channel: NumberedValue.Channel
    }

    private struct Pair: Hashable {
        let central: Int
        let peripheral: Int
    }

    /// One side's requests, or its indications.
    private struct Turn: Hashable {
        let sender: LinkRole
        let isIndication: Bool
    }

    private struct WatchedLink {
        let central: BluetoothAddress
        let peripheral: BluetoothAddress
        let begin: Duration
        /// What waits for its answer.
        var pending: [Turn: (opcode: UInt8, since: Duration)] = [:]
        /// Whether a fault has changed what the two know of each other.
        var isTamperedWith = false
        var hasOverflowed = false
        /// When the first value came that nobody takes, by its route.
        var unwanted: [Route: Duration] = [:]
        var end: DisconnectReason?
    }

    private struct State {
        var links: [Int: WatchedLink] = [:]
        var arrivals: [Route: [Arrival]] = [:]
        /// Between whom a fault has changed what is subscribed to: it may stay so on their next links.
        var tamperedPairs: Set<[BluetoothAddress]> = []
        var consumers: [Route: Int] = [:]
        var lastConsumer: [Route: Duration] = [:]
        /// Which commands may hold the links of a central to a peripheral, and when the last one has let go of them.
        var commands: [Pair: Int] = [:]
        var lastCommand: [Pair: Duration] = [:]
        var features: Set<String> = []
        var problems: [String] = []
    }

    /// For so long values may still come once nobody takes them, a link has begun, or a command has let go of it: the
    /// write that switches them off waits its turn.
    private static let subscriptionsOutlive = Duration.seconds(70)

    /// Exchange MTU, and after how long a link is used though it was not answered.
    private static let exchange: UInt8 = 0x02
    private static let exchangeWaits = Duration.seconds(4)

    private let state = Mutex(State())
    private let centrals: [BluetoothAddress: Int]

    init(centrals: [BluetoothAddress]) {
        // One beyond the others is the second adapter of the last central.
        self.centrals = Dictionary(
            uniqueKeysWithValues: centrals.enumerated().map { ($1, min($0, WorldPlan.centrals - 1)) }
        )
    }

    var problems: [String] { state.withLock { $0.problems } }
    var features: Set<String> { state.withLock { $0.features } }

    func arrivals(on route: Route) -> [Arrival] { state.withLock { $0.arrivals[route] ?? [] } }

    /// The arrival at a place of a route; `nil` where there is none yet.
    func arrival(_ index: Int, on route: Route) -> Arrival? {
        state.withLock { state in
            guard let all = state.arrivals[route], all.indices.contains(index) else { return nil }
            return all[index]
        }
    }

    /// Whether what a link carried can be counted, value by value.
    func isCountable(_ link: Int) -> Bool {
        state.withLock { $0.links[link].map { !$0.isTamperedWith && !$0.hasOverflowed } ?? false }
    }

    /// How a link ended for the central.
    func end(of link: Int) -> DisconnectReason? { state.withLock { $0.links[link]?.end } }

    // MARK: - Who takes values

    func began(_ route: Route) { state.withLock { $0.consumers[route, default: 0] += 1 } }

    func ended(_ route: Route, at time: Duration) {
        state.withLock { state in
            state.consumers[route, default: 0] -= 1
            state.lastConsumer[route] = time
        }
    }

    // MARK: - Who runs commands

    /// Notes that commands begin which may hold a link: others wait, also to switch off what nobody takes.
    func commandsBegan(_ central: Int, _ peripheral: Int) {
        state.withLock { $0.commands[Pair(central: central, peripheral: peripheral), default: 0] += 1 }
    }

    func commandsEnded(_ central: Int, _ peripheral: Int, at time: Duration) {
        let pair = Pair(central: central, peripheral: peripheral)
        state.withLock { state in
            state.commands[pair, default: 0] -= 1
            state.lastCommand[pair] = time
        }
    }

    // MARK: - Records

    func note(_ record: AirRecord) {
        state.withLock { state in
            switch record.event {
            case .connected(let central, let peripheral):
                state.links[record.link] = WatchedLink(central: central, peripheral: peripheral, begin: record.time)
            case .ended(let role, let reason):
                if role == .central { state.links[record.link]?.end = reason }
                state.features.insert("link ended for the \(role.rawValue): \(reason.kind)")
            case .pdu(let octets, let sender, let fate):
                note(octets, sender, fate, record, &state)
            }
        }
    }

    private func note(
        _ octets: [UInt8],
        _ sender: LinkRole,
        _ fate: AirRecord.Fate,
        _ record: AirRecord,
        _ state: inout State
    ) {
        guard let opcode = octets.first, var link = state.links[record.link] else { return }
        state.features.insert("\(sender.rawValue) sends \(opcode), \(fate.rawValue)")
        defer { state.links[record.link] = link }
        switch fate {
        case .delivered: break
        case .overflowed: link.hasOverflowed = true
        default:
            link.isTamperedWith = true
            state.tamperedPairs.insert([link.central, link.peripheral])
        }
        if !link.isTamperedWith {
            if let problem = takeTurn(opcode, sender, at: record.time, &link) {
                state.problems.append("at \(record.time), link \(record.link): \(problem)")
            }
        }
        guard sender == .peripheral, fate != .swallowed, fate != .overflowed, let central = centrals[link.central]
        else {
            return
        }
        for value in Self.values(in: octets) {
            let route = Route(central: central, peripheral: value.peripheral, channel: value.channel)
            let arrival = Arrival(value: value, link: record.link, time: record.time, isCertain: fate == .delivered)
            state.arrivals[route, default: []].append(arrival)
            guard !state.tamperedPairs.contains([link.central, link.peripheral]),
                state.consumers[route, default: 0] == 0
            else { continue }
            // A peripheral that is bonded goes on with what was subscribed to when the last link was lost.
            let pair = Pair(central: central, peripheral: value.peripheral)
            guard state.commands[pair, default: 0] == 0, let last = state.lastConsumer[route] else { continue }
            var since = max(last, link.begin, state.lastCommand[pair] ?? .zero)
            // Which of these are left over from an earlier link, only their first value tells.
            if last < link.begin {
                link.unwanted[route] = link.unwanted[route] ?? record.time
                since = max(since, link.unwanted[route] ?? since)
            }
            if record.time - since > Self.subscriptionsOutlive {
                state.problems.append(
                    "at \(record.time), link \(record.link): \(value) arrives, and nobody has taken any since \(last)"
                )
            }
        }
    }

    /// Whether a PDU keeps its turn: a request waits for the answer to the one before, an indication for its
    /// confirmation (Core Specification, Vol 3, Part F, 3.3.2).
    private func takeTurn(_ opcode: UInt8, _ sender: LinkRole, at time: Duration, _ link: inout WatchedLink) -> String?
    {
        let kind = ATTOpcode(rawValue: opcode).kind
        switch kind {
        case .request, .indication:
            let turn = Turn(sender: sender, isIndication: kind == .indication)
            if let (pending, since) = link.pending[turn], pending != Self.exchange || time - since < Self.exchangeWaits
            {
                return "the \(sender.rawValue) sends \(opcode) while \(pending) waits for its answer"
            }
            link.pending[turn] = (opcode, time)
        case .response: link.pending[Turn(sender: sender.opposite, isIndication: false)] = nil
        case .confirmation: link.pending[Turn(sender: sender.opposite, isIndication: true)] = nil
        default: break
        }
        return nil
    }

    /// The numbered values that a notification or an indication carries.
    private static func values(in octets: [UInt8]) -> [NumberedValue] {
        switch octets.first {
        case 0x1B, 0x1D: return NumberedValue(octets.dropFirst(3)).map { [$0] } ?? []
        case 0x23:
            var (values, rest): ([NumberedValue], ArraySlice<UInt8>) = ([], octets.dropFirst())
            while rest.count >= 4 {
                let length = Int(rest[rest.startIndex + 2]) | Int(rest[rest.startIndex + 3]) << 8
                rest = rest.dropFirst(4)
                NumberedValue(rest.prefix(length)).map { values.append($0) }
                rest = rest.dropFirst(length)
            }
            return values
        default: return []
        }
    }
}
