import BLEStreams
import Synchronization

/// Prints each value that a device sends by itself.
struct Notify: Command {
    static let name = "notify"
    static let summary = "print the values that a device notifies or indicates"
    static let parameters = ["ADDRESS", "CHARACTERISTIC"]
    static let options =
        [
            Option("reconnect", help: "when the link is lost, connect again, for as long as it takes")
        ] + StreamLimits.options
    static let notes = "Without --timeout or --count it goes on until Ctrl-C, or until the link is lost."

    private let peripheral: PeripheralName
    private let characteristic: CharacteristicName
    private let limits: StreamLimits
    private let reconnects: Bool

    init(_ arguments: Arguments) throws(UsageError) {
        let words = try arguments.parameters(Self.parameters)
        peripheral = try PeripheralName(words[0])
        characteristic = try CharacteristicName(words[1])
        limits = try StreamLimits(Self.name, arguments)
        reconnects = arguments.has("reconnect")
    }

    func run(in session: Session) async throws {
        let peripheral = try session.peripheral(peripheral)
        let links = LinkHistory()
        var values = peripheral.stream { link in
            session.log.detail("connected to \(link.peripheral) (\(link.peripheral.address.kind)), MTU \(link.mtu)")
            links.add(link)
            return link.notifications(of: characteristic)
        }
        if reconnects {
            values = values.retry(
                .exponential(),
                when: { error in
                    guard let error = error as? BLEError, !error.isFinal else { return false }
                    session.log.say("\(error.failureText) Trying again.")
                    return true
                }
            )
        }
        try await session.talkingAbout(peripheral) {
            try await session.printAll(values.withGaps(), limits, droppedBefore: links.dropped) { item in
                switch item {
                case .value(let value):
                    try session.output.print(value.json, "\(value.time.clockText)  \(value.readableText)")
                    return true
                case .gap(let gap):
                    session.log.say(gap.text)
                    try session.output.print(.object(("gap", gap.json)))
                    return false
                }
            }
        }
        if let limit = limits.time, links.isEmpty {
            throw BLEError.neverConnected(peripheral, within: limit)
        }
    }
}

/// The links of one stream, one after the other: the last one, and the sum of what the others lost.
private final class LinkHistory: Sendable {
    private let state = Mutex<(last: Link?, droppedBefore: Int)>((nil, 0))

    func add(_ link: Link) { state.withLock { $0 = (link, $0.droppedBefore + ($0.last?.droppedPDUs ?? 0)) } }

    /// How many values this machine's kernel dropped.
    var dropped: Int { state.withLock { $0.droppedBefore + ($0.last?.droppedPDUs ?? 0) } }

    /// Whether there has been none yet.
    var isEmpty: Bool { state.withLock { $0.last == nil } }
}

extension StreamGap {
    /// What is missing, and why, for a program.
    fileprivate var json: JSON {
        .object(
            ("duration", .decimal(duration.seconds)),
            ("dropped", .number(dropped)),
            ("reason", (reason as? BLEError)?.json)
        )
    }

    /// The same for a person.
    fileprivate var text: String {
        duration == .zero
            ? "gap: \(dropped) values were dropped" : "gap: nothing was received for \(duration.secondsText)"
    }
}

extension BLEError {
    fileprivate static func neverConnected(_ peripheral: Peripheral, within limit: Duration) -> BLEError {
        var error = BLEError(
            .timedOut,
            operation: "connect",
            object: "to \(peripheral)",
            cause: "the peripheral did not accept a connection within \(limit.secondsText)",
            remedy: "Look whether it is switched on, near, advertising, and not connected to another central."
        )
        error.elapsed = limit
        return error
    }
}
