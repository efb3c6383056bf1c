import BLEProtocol
public import BLEStreams

extension Link {
    /// The two directions of a serial line over this link.
    ///
    /// ```swift
    /// let line = link.bytes(of: .nordicUART)
    /// try await line.write("AT\r\n".utf8)
    /// for try await octet in line { … }
    /// ```
    ///
    /// - Parameters:
    ///   - serial: the service and its two characteristics.
    ///   - buffer: what happens to chunks that come faster than they are taken; one counts as one value.
    public func bytes(of serial: SerialService, buffer: BufferPolicy = .standard) -> LinkBytes {
        LinkBytes(
            chunks: notifications(of: .uuid(serial.incoming, in: serial.service), buffer: buffer),
            link: self,
            serial: serial
        )
    }
}

/// A serial line over a link: octets that come, and octets that are written. See ``Link/bytes(of:buffer:)``.
///
/// Nothing comes before it is iterated: the first `next()` switches notifications on, and the end of the iteration
/// switches them off. Writing needs no iteration.
public struct LinkBytes: AsyncSequence, Sendable {
    public typealias Element = UInt8
    public typealias Failure = any Error

    /// What comes, as the chunks in which it came, each with its time; for ``BLEStream/assembled(until:maximumSize:)``.
    public let chunks: BLEStream<CharacteristicValue>

    private let link: Link
    private let serial: SerialService

    init(chunks: BLEStream<CharacteristicValue>, link: Link, serial: SerialService) {
        self.chunks = chunks
        self.link = link
        self.serial = serial
    }

    /// What comes, octet by octet, with all operators; iterating the line itself is the same.
    public var incoming: BLEStream<UInt8> { chunks.bytes }

    /// Starts to take octets.
    public func makeAsyncIterator() -> BLEStream<UInt8>.Iterator { incoming.makeAsyncIterator() }

    /// Writes octets, however many, in pieces that fit the link.
    ///
    /// Without response where the peripheral takes that, else with; it returns when the radio has taken the last piece,
    /// or the peripheral has answered it. The pieces of two calls at the same time may mix: make one after the other.
    ///
    /// - Parameters:
    ///   - octets: what to write; of none nothing is sent.
    ///   - timeout: how long each piece may take; without it each request has the 30 s of the specification.
    /// - Throws: as ``CharacteristicAccess/write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)``; pieces before the one
    ///   that failed have been written. When the task is cancelled, `CancellationError`, after a whole piece.
    public func write(_ octets: some Collection<UInt8>, timeout: Duration? = nil) async throws {
        let selector = CharacteristicSelector.uuid(serial.outgoing, service: serial.service)
        let found = try await link.characteristic(selector, operation: "write", timeout: timeout)
        let kind: Link.WriteKind = found.properties.contains(.writeWithoutResponse) ? .withoutResponse : .withResponse
        var rest = octets[...]
        while !rest.isEmpty {
            // The MTU may grow meanwhile.
            let piece = rest.prefix(link.maximumWriteLength(for: .withoutResponse))
            try await link.write(piece, to: found, kind, timeout: timeout)
            rest = rest.dropFirst(piece.count)
        }
    }
}
