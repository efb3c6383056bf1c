import Synchronization

/// Limits what centrals have sent and one consumer has not taken: a share for each central, and a total.
///
/// A central that floods the program fills only its own share, not the memory or the share of the others.
final class Allowance: Sendable {
    /// How much of one central may wait.
    static let ofEach = 4096
    /// How much of all centrals may wait; this also bounds centrals that keep returning under other addresses.
    static let ofAll = 65_536

    private struct State {
        var waiting: [Int: Int] = [:]
        var total = 0
    }

    private let state = Mutex(State())

    /// A place for something that a central has sent; `nil` if there is none. It is free again once it is released.
    func place(for central: Int) -> Place? {
        let isFree = state.withLock { state in
            guard state.total < Self.ofAll, state.waiting[central, default: 0] < Self.ofEach else { return false }
            state.waiting[central, default: 0] += 1
            state.total += 1
            return true
        }
        return isFree ? Place(self, central) : nil
    }

    /// Whether something that a central has sent waits.
    func holds(_ central: Int) -> Bool { state.withLock { $0.waiting[central] != nil } }

    private func free(_ central: Int) {
        state.withLock { state in
            state.total -= 1
            let rest = state.waiting[central, default: 1] - 1
            state.waiting[central] = rest == 0 ? nil : rest
        }
    }

    /// One thing that waits.
    final class Place: Sendable {
        let allowance: Allowance
        private let central: Int

        fileprivate init(_ allowance: Allowance, _ central: Int) {
            self.allowance = allowance
            self.central = central
        }

        deinit { allowance.free(central) }
    }
}

/// Something that waits for a consumer, with its place.
struct Waiting<Element: Sendable>: Sendable {
    let element: Element
    let place: Allowance.Place
}
