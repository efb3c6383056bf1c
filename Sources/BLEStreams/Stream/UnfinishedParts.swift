import BLEProtocol

/// Which parts of messages an error hands out.
@usableFromInline
enum UnfinishedScope: Sendable {
    /// All that were received: what an error has handed out does not come again.
    case all
    /// Those that no later stream begins with; the others are not handed out.
    case lost
}

/// Parts of messages that belong to no element yet, each with the name of its stream.
@usableFromInline
struct UnfinishedParts: Sendable {
    private(set) var all: [BLEError.ReceivedPart]

    @usableFromInline init() { all = [] }

    init(_ parts: [BLEError.ReceivedPart]) { all = parts }

    /// - Parameter octets: the part of a stream; `nil` if it has none.
    init(_ octets: [UInt8]?, of subject: StreamSubject) {
        self.init(octets.map { [subject.part($0)] } ?? [])
    }

    /// Those that an error hands out, if it can have any.
    init(handedOutBy error: (any Error)?) { self.init((error as? BLEError)?.allReceivedParts ?? []) }

    /// The octets, if only one stream has some.
    var only: [UInt8]? { all.count == 1 ? all[0].octets : nil }

    mutating func add(_ others: UnfinishedParts) { all.add(others.all) }
}

extension StreamSubject {
    /// A part of a message of this stream.
    func part(_ octets: [UInt8]) -> BLEError.ReceivedPart {
        BLEError.ReceivedPart(operation: operation, object: object, octets: octets)
    }
}

extension [BLEError.ReceivedPart] {
    /// The same parts, which an iteration of a shared stream gives to each of its consumers.
    func shared(by iteration: UInt64) -> [BLEError.ReceivedPart] {
        enumerated().map { number, part in
            // One of an inner shared stream is known by that.
            guard part.origin.place == nil else { return part }
            var part = part
            part.origin.place = (iteration, number)
            return part
        }
    }
}

extension BLEError {
    /// Hands out the parts of the streams that it ends.
    mutating func handOut(_ parts: UnfinishedParts) {
        add(parts.all)
        received = received ?? parts.only
    }
}
