import Synchronization

/// How much of what centrals send may wait for one consumer: so much of each, whatever the others do, and so much of all.
///
/// One that floods the program fills its own part, and not the memory, nor the place of the others.
final class Allowance: Sendable {
    /// What may wait of one central.
    static let ofEach = 4096
    /// What may wait of all; also of those who come back again and again under other addresses.
    static let ofAll = 65_536

    private struct State {
        var waiting: [Int: Int] = [:]
        var total = 0
    }

    private let state = Mutex(State())

    /// A place for something that a central has sent; `nil` where there is none. It is free again when nobody holds it.
    func place(for central: Int) -> Place? {
        let isFree = state.withLock { state in
            guard state.total < Self.ofAll, state.waiting[central, default: 0] < Self.ofEach else { return false }
            state.waiting[central, default: 0] += 1
            state.total += 1
            return true
        }
        return isFree ? Place(self, central) : nil
    }

    private func free(_ central: Int) {
        state.withLock { state in
            state.total -= 1
            let rest = state.waiting[central, default: 1] - 1
            state.waiting[central] = rest == 0 ? nil : rest
        }
    }

    /// One thing that waits.
    final class Place: Sendable {
        private let allowance: Allowance
        private let central: Int

        fileprivate init(_ allowance: Allowance, _ central: Int) {
            self.allowance = allowance
            self.central = central
        }

        deinit { allowance.free(central) }
    }
}

/// Something that waits for a consumer, in its place.
struct Waiting<Element: Sendable>: Sendable {
    let element: Element
    let place: Allowance.Place
}
