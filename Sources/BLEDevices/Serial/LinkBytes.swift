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
    ///   - buffer: the policy for chunks that arrive faster than they are consumed; each counts as one value.
    public func bytes(of serial: SerialService, buffer: BufferPolicy = .standard) -> LinkBytes {
        LinkBytes(
            chunks: notifications(of: .uuid(serial.incoming, in: serial.service), buffer: buffer),
            link: self,
            serial: serial
        )
    }
}

/// A serial line over a link: received octets, and octets to write. See ``Link/bytes(of:buffer:)``.
///
/// Octets are received only while the line is iterated: the first `next()` subscribes, and the end of the iteration
/// unsubscribes. Writing needs no iteration.
public struct LinkBytes: AsyncSequence, Sendable {
    public typealias Element = UInt8
    public typealias Failure = any Error

    /// The received octets, in the chunks in which they arrived, each with its time; for
    /// ``BLEStream/assembled(until:maximumSize:)``.
    public let chunks: BLEStream<CharacteristicValue>

    private let link: Link
    private let serial: SerialService

    init(chunks: BLEStream<CharacteristicValue>, link: Link, serial: SerialService) {
        self.chunks = chunks
        self.link = link
        self.serial = serial
    }

    /// The received octets one by one, as a stream with all operators; the line itself can be iterated too.
    public var incoming: BLEStream<UInt8> { chunks.bytes }

    /// Begins an iteration over the received octets.
    public func makeAsyncIterator() -> BLEStream<UInt8>.Iterator { incoming.makeAsyncIterator() }

    /// Writes any number of octets, in pieces that fit the link.
    ///
    /// Writes without response if the peripheral permits that, otherwise with response. It returns when the radio has
    /// accepted the last piece, or the peripheral has answered it. The pieces of concurrent calls may interleave: await
    /// one call before the next.
    ///
    /// A peripheral ignores what is written without response over a link that is less secure than it requires, and
    /// tells nobody: call ``Link/secure(to:answers:timeout:)`` before. With pairing answers, an iteration secures the
    /// link when it subscribes, but what is written before that is lost.
    ///
    /// - Parameters:
    ///   - octets: what to write; nothing is sent if there are none.
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
            // The services may change while it waits for its turn: it goes where the characteristic is then.
            try await link.write(piece, to: .uuid(serial.outgoing, in: serial.service), kind, timeout: timeout)
            rest = rest.dropFirst(piece.count)
        }
    }
}
