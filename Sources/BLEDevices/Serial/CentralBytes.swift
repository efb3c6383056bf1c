public import BLEProtocol
public import BLEStreams

extension LocalService {
    /// A service with a serial line for centrals: they write to one characteristic and receive from the other.
    ///
    /// ```swift
    /// let modem = LocalPeripheral(name: "Modem") { LocalService.serialLine() }
    /// try await modem.run { server in
    ///     let commands = server.messages(to: SerialService.nordicUART.outgoing, endingWith: .delimiter("\r\n"))
    ///     for try await command in commands {
    ///         let line = server.bytes(of: .nordicUART, with: command.central)
    ///         do {
    ///             try await line.write(command.octets + Array(": OK\r\n".utf8))
    ///         } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {
    ///             // It has left, or listens no more: the lines of the others go on.
    ///         } catch let error as BLEError where error.code == .overflow {
    ///             // It has agreed on a smaller MTU meanwhile, which may have cut what it gets.
    ///             command.central.disconnect()
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Values that a central writes before the iteration are refused, so iterate from the beginning, as here.
    ///
    /// - Parameters:
    ///   - serial: the service and its two characteristics.
    ///   - access: the protection that writing and receiving require. What a central writes without response over a
    ///     link with less is ignored, as the protocol has it; it is told only if it asks for a response.
    public static func serialLine(
        _ serial: SerialService = .nordicUART,
        access: AccessRequirement = .open
    ) -> LocalService {
        LocalService(serial.service) {
            LocalCharacteristic(serial.outgoing, [.write, .writeWithoutResponse], value: .dynamic, access: access)
            LocalCharacteristic(serial.incoming, [.notify], access: access)
        }
    }
}

extension PeripheralServer {
    /// The two directions of a serial line with one central; at the other end, this is ``Link/bytes(of:buffer:)``.
    ///
    /// - Parameters:
    ///   - serial: the service and its two characteristics, as ``LocalService/serialLine(_:access:)`` describes them.
    ///   - central: the central at the other end.
    public func bytes(of serial: SerialService, with central: ConnectedCentral) -> CentralBytes {
        CentralBytes(server: self, central: central, serial: serial)
    }
}

/// A serial line with a central: received octets, and octets to write. See ``PeripheralServer/bytes(of:with:)``.
///
/// Octets are accepted while the line is iterated, and refused before: a central that writes as soon as it has
/// subscribed may be faster than a program that begins then. If that matters, iterate
/// ``PeripheralServer/messages(to:endingWith:maximumSize:)`` from the beginning. The names of a ``SerialService`` are
/// those of the other end: what is `outgoing` there arrives here.
public struct CentralBytes: AsyncSequence, Sendable {
    public typealias Element = UInt8
    public typealias Failure = any Error

    private let server: PeripheralServer
    private let central: ConnectedCentral
    private let serial: SerialService

    init(server: PeripheralServer, central: ConnectedCentral, serial: SerialService) {
        self.server = server
        self.central = central
        self.serial = serial
    }

    /// The received octets, in the chunks in which they were written; for ``BLEStream/assembled(until:maximumSize:)``.
    ///
    /// A chunk is answered once it is consumed, so a central that waits for answers writes no faster than this is
    /// iterated. For a central that doesn't, up to 4,096 chunks are buffered; further ones are dropped, which is a gap.
    /// What the kernel had no room for is one too, since it may have been a chunk. The stream ends when the central
    /// leaves or the server stops, and throws when the adapter fails.
    public var chunks: BLEStream<[UInt8]> {
        // A chunk that was refused because it waited for too long is the central's to write again.
        server.writes(to: serial.outgoing, by: central).compactMap { $0.acceptInTime() ? $0.value : nil }
    }

    /// The received octets one by one, as a stream with all operators; the line itself can be iterated too.
    ///
    /// It throws ``BLEError/Code/overflow`` after chunks were dropped.
    public var incoming: BLEStream<UInt8> { chunks.bytes }

    /// Begins an iteration over the received octets.
    public func makeAsyncIterator() -> BLEStream<UInt8>.Iterator { incoming.makeAsyncIterator() }

    /// Writes any number of octets, in pieces that fit the link, and waits while the central's queue is full.
    ///
    /// It returns when the last piece is queued for the radio. The pieces of concurrent calls may interleave: await one
    /// call before the next.
    ///
    /// - Parameter octets: what to write; nothing is sent if there are none.
    /// - Throws: as ``PeripheralServer/notify(_:of:to:)-(Collection<UInt8>,_,_)``; ``BLEError/Code/notSupported`` also
    ///   if the central unsubscribes before the last piece is queued, even if it subscribes again at once: the rest
    ///   would look like a beginning; ``BLEError/Code/overflow`` if the central agrees on a smaller MTU meanwhile,
    ///   which may cut pieces that wait. Pieces before the one that failed have been sent. When the task is cancelled,
    ///   `CancellationError`, after a whole piece.
    public func write(_ octets: some Collection<UInt8>) async throws {
        try await server.notify(inPieces: octets, of: serial.incoming, to: central)
    }
}
