import BLEStreams
import Testing

extension CommandQueue.Handle {
    /// Waits for the value, which is a sequence of these.
    func expect<Element: Equatable>(_ elements: [Element]) async throws where Output: Sequence<Element> {
        let value = try await value
        #expect(Array(value) == elements)
    }
}
