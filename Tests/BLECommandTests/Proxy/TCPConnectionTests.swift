import BLEStreams
import Glibc
import Testing

@testable import ble

@Suite(.timeLimit(.minutes(10))) struct TCPConnectionTests {
    /// The peer's end of a connection.
    private struct Peer: ~Copyable {
        let descriptor: Int32

        func send(_ octet: UInt8) { withUnsafeBytes(of: octet) { _ = write(descriptor, $0.baseAddress, 1) } }

        func take(_ count: Int) {
            var (left, octets) = (count, [UInt8](repeating: 0, count: 65_536))
            while left > 0 {
                let taken = read(descriptor, &octets, min(left, octets.count))
                guard taken > 0 else { return }
                left -= taken
            }
        }

        deinit { close(descriptor) }
    }

    /// Dispatch never wakes a reader that begins to wait on a descriptor while a writer waits there.
    @Test func `what comes is received while what is sent waits for room`() async throws {
        for _ in 0..<20 {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let connection = try #require(TCPConnection(ends[0]))
            let peer = Peer(descriptor: ends[1])
            connection.send([UInt8](repeating: 0, count: 1 << 22)) { _ in }
            // More than there is room for: by then, the rest has waited.
            peer.take(1 << 20)
            peer.send(1)
            var taken: [UInt8] = []
            for try await part in connection.received.timeout(.seconds(20)) {
                taken += part
                if taken.count == 2 { break }
                peer.send(2)
            }
            #expect(taken == [1, 2])
            connection.abandon()
        }
    }
}
