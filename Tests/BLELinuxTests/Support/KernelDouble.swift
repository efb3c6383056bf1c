import BLEProtocol
import BLERadio

@testable import BLELinux

/// The kernel's end of a management socket: a test takes its commands one by one, and says what is answered and told.
final class KernelDouble: Sendable {
    struct Command: Equatable {
        var opcode: ManagementOpcode
        var parameters: [UInt8]
    }

    let management: ManagementSocket
    let loop: EventLoop
    let timeline = HandTimeline()
    private let far: UDPSocket
    private let registration: EventLoop.Registration
    private let stream: AsyncStream<Command>

    init() throws {
        let (near, far) = try UDPSocket.pair()
        self.far = far
        loop = try EventLoop(name: "test")
        management = try ManagementSocket(over: near.duplicate(), loop: loop, timeline: timeline) {
            ManagementIndex(rawValue: 0)
        }
        let (stream, continuation) = AsyncStream<Command>.makeStream()
        self.stream = stream
        registration = try loop.register(far.shared.descriptor, for: .readable) { _, _ in
            while let datagram = try? far.shared.descriptor.read(4096), datagram.count >= 6 {
                let opcode = ManagementOpcode(rawValue: UInt16(datagram[0]) | UInt16(datagram[1]) << 8)
                continuation.yield(Command(opcode: opcode, parameters: Array(datagram[6...])))
            }
        }
    }

    deinit { loop.unregister(registration, of: far.shared.descriptor) }

    /// The next command that comes.
    func next() async -> Command? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }

    /// Takes the next command, and answers it.
    func answer(_ status: ManagementStatus = .success, with parameters: [UInt8] = []) async throws -> Command? {
        guard let command = await next() else { return nil }
        let opcode = command.opcode.rawValue
        try tell(1, [UInt8(opcode & 0xFF), UInt8(opcode >> 8), status.rawValue] + parameters)
        return command
    }

    /// Tells something.
    func tell(_ event: UInt8, _ parameters: [UInt8]) throws {
        let count = [UInt8(parameters.count & 0xFF), UInt8(parameters.count >> 8)]
        try far.shared.descriptor.send([event, 0, 0, 0] + count + parameters)
    }

    /// A discovery has ended.
    func tellThatDiscoveryEnded() throws { try tell(0x13, [6, 0]) }
}
