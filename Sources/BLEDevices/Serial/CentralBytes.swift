public import BLEProtocol
public import BLEStreams

extension LocalService {
    /// The service of a serial line that this device offers: one characteristic that centrals write to, one that sends.
    ///
    /// ```swift
    /// let modem = LocalPeripheral(name: "Modem") { LocalService.serialLine() }
    /// try await modem.run { server in
    ///     let commands = server.messages(to: SerialService.nordicUART.outgoing, endingWith: .delimiter("\r\n"))
    ///     for try await command in commands {
    ///         let line = server.bytes(of: .nordicUART, with: command.central)
    ///         try await line.write(command.octets + Array(": OK\r\n".utf8))
    ///     }
    /// }
    /// ```
    ///
    /// What a central writes before it is iterated is refused, so iterate from the beginning, as here.
    ///
    /// - Parameters:
    ///   - serial: the service and its two characteristics.
    ///   - access: what a central must bring to write, and to be sent anything.
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
    /// The two directions of a serial line with one central: what ``Link/bytes(of:buffer:)`` is at the other end.
    ///
    /// - Parameters:
    ///   - serial: the service and its two characteristics, as ``LocalService/serialLine(_:access:)`` describes them.
    ///   - central: who writes, and is written to.
    public func bytes(of serial: SerialService, with central: ConnectedCentral) -> CentralBytes {
        CentralBytes(server: self, central: central, serial: serial)
    }
}

/// A serial line with a central: octets that come, and octets that are written. See ``PeripheralServer/bytes(of:with:)``.
///
/// What comes is taken while it is iterated, and refused before: a central that writes as soon as it has subscribed may be
/// faster than a program that begins then. Where that matters, iterate
/// ``PeripheralServer/messages(to:endingWith:maximumSize:)`` from the beginning. The names of a ``SerialService`` are
/// those of the other end: what is `outgoing` there comes here.
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

    /// What comes, as the chunks in which it was written; for ``BLEStream/assembled(until:maximumSize:)``.
    ///
    /// A chunk is answered when it is taken, so a central that waits for answers writes no faster than this is iterated. Of one
    /// that doesn't 4,096 chunks may wait; what comes beyond is dropped, and a gap. Ends when the central leaves or the server
    /// stops; throws when the adapter fails.
    public var chunks: BLEStream<[UInt8]> {
        server.writes(to: serial.outgoing, by: central).map { write in
            write.accept()
            return write.value
        }
    }

    /// What comes, octet by octet, with all operators; iterating the line itself is the same.
    ///
    /// It throws ``BLEError/Code/overflow`` where chunks were dropped.
    public var incoming: BLEStream<UInt8> { chunks.bytes }

    /// Starts to take octets.
    public func makeAsyncIterator() -> BLEStream<UInt8>.Iterator { incoming.makeAsyncIterator() }

    /// Writes octets, however many, in pieces that fit the link, and waits while the central's queue is full.
    ///
    /// It returns when the last piece waits for the radio. The pieces of two calls at the same time may mix: make one after the
    /// other.
    ///
    /// - Parameter octets: what to write; of none nothing is sent.
    /// - Throws: as ``PeripheralServer/notify(_:of:to:)-(_,BluetoothUUID,_)``; pieces before the one that failed have
    ///   been sent. When the task is cancelled, `CancellationError`, after a whole piece.
    public func write(_ octets: some Collection<UInt8>) async throws {
        var rest = octets[...]
        while !rest.isEmpty {
            // The MTU may grow meanwhile.
            let piece = rest.prefix(central.maximumValueLength)
            try await server.notify(piece, of: serial.incoming, to: central)
            rest = rest.dropFirst(piece.count)
        }
    }
}
