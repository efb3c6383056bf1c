import BLEStreams
import Synchronization

/// Messages to one client, in the order in which they are sent.
struct ProxyOutbox: Sendable {
    private final class Channel: Sendable {
        let machine: Mutex<ProxyChannel>
        init(_ machine: ProxyChannel) { self.machine = Mutex(machine) }
    }

    private let connection: TCPConnection
    private let channel: Channel

    init(_ connection: TCPConnection, _ channel: ProxyChannel) {
        self.connection = connection
        self.channel = Channel(channel)
    }

    /// Takes received octets; immediate answers have been sent when this returns.
    func receive(_ octets: [UInt8]) async -> ProxyChannel.Received {
        await withCheckedContinuation { continuation in
            channel.machine.withLock { machine in
                let received = machine.receive(octets)
                guard !received.reply.isEmpty else { return continuation.resume(returning: received) }
                connection.send(received.reply) { _ in continuation.resume(returning: received) }
            }
        }
    }

    /// Sends messages and waits until they have left, which slows down the senders to a slow client.
    ///
    /// A message is sent whole, or the connection is over: the task's cancellation doesn't end the wait,
    /// ``TCPConnection/abandon()`` does.
    ///
    /// - Throws: ``ClientHasLeft`` when the connection is over; `CancellationError`.
    func send(_ responses: ProxyResponse...) async throws {
        try await send(responses)
    }

    /// The same for several messages.
    func send(_ responses: [ProxyResponse]) async throws {
        try Task.checkCancellation()
        let failure: Int32 = await withCheckedContinuation { continuation in
            channel.machine.withLock { machine in
                // Under the lock: encrypted messages are numbered in the order in which they leave.
                let octets = responses.flatMap { machine.send($0.type, $0.octets) }
                connection.send(octets) { continuation.resume(returning: $0) }
            }
        }
        guard failure == 0 else { throw ClientHasLeft() }
    }
}

/// The client no longer takes what is sent.
struct ClientHasLeft: Error {}
