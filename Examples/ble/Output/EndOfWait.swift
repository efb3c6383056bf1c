import Glibc

/// Ends a wait for another descriptor.
final class EndOfWait: Sendable {
    /// Can be read from the end on.
    let descriptor: Int32
    private let writing: Int32

    /// The corresponding C function is `pipe`.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (descriptor, writing) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writing)
    }

    func signal() { _ = write(writing, "x", 1) }
}
