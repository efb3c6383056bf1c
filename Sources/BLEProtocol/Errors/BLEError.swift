/// The error of the package's public calls: the operation, its object, the cause, and the remedy.
///
/// Switch on ``code``; print the error itself for a person. Task cancellation is not a `BLEError`: it remains
/// `CancellationError`. The few calls that throw another type name it.
public struct BLEError: Error, Sendable {
    /// The kind of failure, for a program to switch on.
    public struct Code: Hashable, Sendable {
        private let name: String
        fileprivate let isFinal: Bool

        private init(_ name: String, isFinal: Bool = false) {
            self.name = name
            self.isFinal = isFinal
        }

        /// An argument is invalid: a malformed address, UUID or hex string, an empty filter.
        public static let invalidArgument = Code("invalidArgument", isFinal: true)
        /// There is no such adapter, or none at all.
        public static let adapterNotFound = Code("adapterNotFound")
        /// The adapter is switched off.
        public static let adapterPoweredOff = Code("adapterPoweredOff")
        /// A switch on the machine or rfkill blocks the adapter.
        public static let adapterBlocked = Code("adapterBlocked")
        /// The adapter is starting, or restarting after it hung.
        public static let adapterNotReady = Code("adapterNotReady")
        /// The operating system does not permit the operation; the remedy names the capability.
        public static let permissionDenied = Code("permissionDenied", isFinal: true)
        /// The system lacks something: no Bluetooth in the kernel, a container without the host's network.
        public static let unsupportedSystem = Code("unsupportedSystem", isFinal: true)
        /// The radio or the peer is occupied by another program or connection.
        public static let busy = Code("busy")
        /// The link could not be made.
        public static let connectionFailed = Code("connectionFailed")
        /// The link ended; ``BLEError/reason`` says why.
        public static let disconnected = Code("disconnected")
        /// A deadline passed; the operation is named.
        public static let timedOut = Code("timedOut")
        /// The peer answered with an error; ``BLEError/attError`` has the octet.
        public static let attributeError = Code("attributeError")
        /// Pairing failed, or the link could not be encrypted.
        public static let securityFailed = Code("securityFailed", isFinal: true)
        /// The peer sent something that the protocol doesn't allow.
        public static let protocolViolation = Code("protocolViolation")
        /// The peer has no such service, characteristic or descriptor.
        public static let notFound = Code("notFound", isFinal: true)
        /// The peer's services changed meanwhile: the attribute no longer exists, or its handle may mean another one.
        public static let servicesChanged = Code("servicesChanged")
        /// The characteristic, peer or adapter does not support the operation.
        public static let notSupported = Code("notSupported", isFinal: true)
        /// A value is too long, a buffer with the policy `.fail` is full, parts of a message or records were dropped or
        /// may have been, or a recording had no room for packets.
        public static let overflow = Code("overflow")
        /// A value did not have the format that its type requires.
        public static let malformedValue = Code("malformedValue")
        /// The stream ended before the awaited value arrived, or in the middle of a message; or the session, queue or
        /// server is over that was used.
        public static let ended = Code("ended")
        /// A value read back from a device differs from the one written.
        public static let verificationFailed = Code("verificationFailed", isFinal: true)
        /// A device has begun the numbers of its records anew, and has none yet with the numbers that are awaited.
        public static let recordsReset = Code("recordsReset", isFinal: true)
        /// A device did not accept its new firmware; the cause includes its reason.
        public static let updateFailed = Code("updateFailed", isFinal: true)
        /// A task would wait for itself: a command for another one of its own queue, or an operation for its own
        /// exclusive hold.
        public static let deadlock = Code("deadlock", isFinal: true)
        /// A system call or the kernel failed in a way that no other code describes.
        public static let systemFailure = Code("systemFailure")
    }

    /// A part of a message that a stream had received.
    public struct ReceivedPart: Hashable, Sendable {
        /// The stream's operation: `notifications`.
        public var operation: String

        /// The object of the operation: `of 2A37 of C4:F2:17:1A:1D:BB`.
        public var object: String

        /// The octets, including the message's prefix.
        public var octets: [UInt8]

        /// Where it comes from, if it may arrive by several paths.
        package var origin = PartOrigin()

        /// Makes a part of a message.
        package init(operation: String, object: String, octets: [UInt8]) {
            self.operation = operation
            self.object = object
            self.octets = octets
        }
    }

    /// Identifies a part that a program gets by several paths, as from a shared stream, so that an error has it once.
    ///
    /// It is no property of the part: all are equal.
    package struct PartOrigin: Hashable, Sendable {
        /// The iteration of a shared stream, and the number of the part in it; `nil` for a part with one path.
        package var place: (iteration: UInt64, number: Int)?

        package init() {}

        package static func == (left: PartOrigin, right: PartOrigin) -> Bool { true }
        package func hash(into hasher: inout Hasher) {}
    }

    /// The kind of failure.
    public var code: Code

    /// The failed operation: `read`, `scan`, `connect`.
    public var operation: String

    /// The object of the operation: an address, a characteristic, an adapter.
    public var object: String

    /// The cause in words.
    public var cause: String

    /// The remedy in words; empty if there is none.
    public var remedy: String

    /// The error that the peer answered with.
    public var attError: ATTError?

    /// Why the link ended, if that is the cause.
    public var reason: DisconnectReason?

    /// Why a pairing failed, if that is the cause.
    public var pairingFailure: PairingFailure?

    /// The `errno` of the system call, if one failed.
    public var systemError: Int32?

    /// How long the operation had been running.
    public var elapsed: Duration?

    /// The octets received before the failure, such as part of a message, so that nothing is lost.
    ///
    /// If several streams are read together, these are those of the stream that failed. Of an error of all of them,
    /// such as that of a `timeout` behind `merge`, they are those of the only stream that had some.
    public var received: [UInt8]?

    /// The parts of messages received before the failure, each with the name of its stream: of the failed stream, and
    /// of those that are read together with it, as by `merge`, `flatMap`, `zip` and `combineLatest`.
    ///
    /// A part of another stream is not among them if that stream's next iteration begins with it, as that of a planned
    /// subscription of a session.
    public var receivedParts: [ReceivedPart] = []

    /// Whether repeating the operation on the same object can't help; `retry` doesn't retry such an error.
    ///
    /// Initially it depends on the code; a stream of a link that has ended sets it too, and so does a message that a
    /// central has in part.
    public var isFinal: Bool

    /// Whether the adapter has removed a peer's key nevertheless, and another program may keep its own.
    package var hasRemovedKey = false

    /// Makes an error; `remedy` is one sentence that says what to do.
    public init(
        _ code: Code,
        operation: String,
        object: String = "",
        cause: String,
        remedy: String = ""
    ) {
        self.code = code
        self.operation = operation
        self.object = object
        self.cause = cause
        self.remedy = remedy
        isFinal = code.isFinal
    }
}

extension BLEError {
    /// ``receivedParts``; if there are none, ``received``, which belongs to what the error names.
    package var allReceivedParts: [ReceivedPart] {
        guard receivedParts.isEmpty, let received else { return receivedParts }
        return [ReceivedPart(operation: operation, object: object, octets: received)]
    }

    /// Adds parts of messages behind those that it has; one that has already come by another path is not added.
    package mutating func add(_ parts: [ReceivedPart]) {
        guard !parts.isEmpty else { return }
        var all = allReceivedParts
        all.add(parts)
        receivedParts = all
    }

    /// Drops what was received, which is a value, or part of one.
    package mutating func dropReceived() { (received, receivedParts) = (nil, []) }
}

extension [BLEError.ReceivedPart] {
    /// Adds parts, except those that are among these already and have come by another path.
    package mutating func add(_ others: [BLEError.ReceivedPart]) {
        for part in others where !contains(where: { $0.isSame(as: part) }) { append(part) }
    }
}

extension BLEError.ReceivedPart {
    fileprivate func isSame(as other: BLEError.ReceivedPart) -> Bool {
        guard let place = origin.place, let others = other.origin.place else { return false }
        return place == others && self == other
    }
}

extension BLEError: CustomStringConvertible {
    /// One line: the operation, its object, the cause, and the remedy.
    public var description: String {
        var text = operation
        if !object.isEmpty { text += " \(object)" }
        text += ": \(cause)"
        // Without octets of its own, those of a single other stream need that one's name too.
        if receivedParts.count > 1 || received == nil && !receivedParts.isEmpty {
            let parts = receivedParts.map { part in
                "\(part.octets.count) from \(part.operation)" + (part.object.isEmpty ? "" : " \(part.object)")
            }
            text += "; octets had been received: \(parts.joined(separator: ", "))"
        } else if let received {
            text += "; \(received.count) octets had been received"
        }
        // A cause that names the limit already states the time.
        if let elapsed, !cause.contains(" within ") { text += " (after \(elapsed))" }
        if !text.hasSuffix(".") { text += "." }
        if !remedy.isEmpty { text += " \(remedy)" }
        return text
    }
}

extension BLEError.Code: CustomStringConvertible {
    /// The code's name, as it is written in source: `timedOut`.
    public var description: String { name }
}
