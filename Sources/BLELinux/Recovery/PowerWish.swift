internal import Synchronization

/// A wish of this program that an adapter be on or off, made through any of its radios: an earlier command that is
/// repeated must not undo it.
///
/// A power break or a reset is no such wish: it puts back what was, unless the program has wished something since it
/// began.
struct PowerWish: Sendable {
    /// What the program has wished since, if it is the contrary.
    enum Contrary {
        case none
        /// It is not known yet whether it succeeds.
        case asked
        case granted
    }

    private struct State {
        var count = 0
        /// The last wish that is being carried out, and the last one that was, by the adapter's name in notes.
        var asked: [String: PowerWish] = [:]
        var granted: [String: PowerWish] = [:]
    }

    private static let state = Mutex(State())

    private let adapter: String
    private let number: Int
    private let isOn: Bool

    private init(_ isOn: Bool, _ adapter: String, number: Int) {
        (self.isOn, self.adapter, self.number) = (isOn, adapter, number)
    }

    /// The program wishes it now; ``end(isGranted:)`` follows.
    static func ask(_ isOn: Bool, of adapter: LinuxAdapter) -> PowerWish {
        let name = adapter.facts.map { KernelThing.name(of: $0) } ?? adapter.name
        return state.withLock { state in
            state.count += 1
            let wish = PowerWish(isOn, name, number: state.count)
            state.asked[name] = wish
            return wish
        }
    }

    /// A power break begins now: what was wished before is older. That an adapter be off which is still being switched
    /// off counts as later: a controller that doesn't answer that is what a recovery switches off and on.
    static func mark(breaking facts: AdapterFacts) -> PowerWish {
        state.withLock { state in
            let name = KernelThing.name(of: facts)
            if let asked = state.asked[name], !asked.isOn { return PowerWish(true, name, number: asked.number - 1) }
            state.count += 1
            return PowerWish(true, name, number: state.count)
        }
    }

    /// It was carried out, or has failed: then it no longer counts.
    func end(isGranted: Bool) {
        Self.state.withLock { state in
            if state.asked[adapter]?.number == number { state.asked[adapter] = nil }
            guard isGranted, state.granted[adapter]?.number ?? 0 < number else { return }
            state.granted[adapter] = self
        }
    }

    /// What the program has wished since, if it is the contrary of this state.
    func contrary(to isOn: Bool) -> Contrary {
        Self.state.withLock { state in
            if let asked = state.asked[adapter], asked.number > number { return asked.isOn == isOn ? .none : .asked }
            guard let granted = state.granted[adapter], granted.number > number else { return .none }
            return granted.isOn == isOn ? .none : .granted
        }
    }
}
