import Glibc
import Testing

/// Where nothing can be written.
enum Sink: CaseIterable {
    /// A disk without room.
    case full
    /// A socket, as some services have it, whose reader has left.
    case unread

    func open() throws -> Int32 {
        BrokenPipes.areErrors
        if self == .full { return Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC) }
        var ends: [Int32] = [0, 0]
        // No other child may get the reading end.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let status = socketpair(AF_UNIX, kind, 0, &ends)
        try #require(status == 0)
        close(ends[0])
        return ends[1]
    }
}
