import BLEStreams

/// A link, once it is as secure as it must be: one element, or the error that says why it isn't.
struct SecuredLink: AsyncSequence, Sendable {
    let link: Link
    let level: LinkSecurity.Level
    let timeout: Duration

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var link: Link?
        fileprivate let level: LinkSecurity.Level
        fileprivate let timeout: Duration

        mutating func next() async throws -> Link? {
            guard let link = self.link.take() else { return nil }
            try await link.secure(to: level, timeout: timeout)
            return link
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(link: link, level: level, timeout: timeout) }
}
