@testable import BLEStreams

extension Polled {
    /// The element; `nil` if it is another answer.
    var element: Element? {
        if case .element(let element) = self { element } else { nil }
    }

    var isPending: Bool {
        if case .pending = self { true } else { false }
    }

    var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}
