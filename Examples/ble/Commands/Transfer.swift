import BLERadio
import BLEStreams
import Synchronization

/// Receives one message that arrives in chunks.
struct Transfer: Command {
    static let name = "transfer"
    static let summary = "receive one message that a device sends in chunks, up to its end mark"
    static let parameters = ["ADDRESS", "CHARACTERISTIC"]
    static let options =
        [
            Option("eom", value: "MARK", help: "the message ends with the chunk MARK; default: EOM"),
            Option("eom-at-end", value: "MARK", help: "the message ends where MARK ends a chunk, even after data"),
            Option("output", value: "FILE", help: "write the message to a file, as a whole or not at all"),
            Option.fresh,
            Option.deadline,
        ] + SecurityOptions.options
    static let notes = """
        Without --output the message goes to standard output unchanged, with --json as an object. If it breaks off, the
        received part is kept as FILE.partial or, if FILE is a link, beside the file that it leads to; if FILE is a pipe
        or a device, it is lost. With --eom-at-end, a message ends too early if its data happens to end in MARK at the
        end of a chunk: use it only for devices that require it.


        """ + SecurityOptions.notes

    /// A message without an end must not fill the memory.
    private static let largestMessage = 64 << 20

    private let peripheral: PeripheralName
    private let characteristic: CharacteristicName
    private let endMark: EndMark
    private let path: String?
    private let limit: Duration?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        let words = try arguments.parameters(Self.parameters)
        peripheral = try PeripheralName(words[0])
        characteristic = try CharacteristicName(words[1])
        endMark = try Self.endMark(arguments)
        path = arguments.last("output")
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
        if path == "" { throw UsageError("--output needs the name of a file") }
    }

    private static func endMark(_ arguments: Arguments) throws(UsageError) -> EndMark {
        let (own, atEnd) = (arguments.last("eom"), arguments.last("eom-at-end"))
        for (name, mark) in [("eom", own), ("eom-at-end", atEnd)] where mark == "" {
            throw UsageError("--\(name) '': an end mark has at least one character")
        }
        guard let atEnd else { return .endOfMessage(own ?? "EOM") }
        guard own == nil else { throw UsageError("--eom and --eom-at-end exclude each other") }
        return .endOfMessage(atEndOfChunk: atEnd)
    }

    func run(in environment: CommandEnvironment) async throws {
        // Before any request to the device: a wrong path must not lose a message.
        let file = try path.map { try MessageFile($0) }
        let chunks = TransferProgress(environment.log)
        let deadline = limit.map { Deadline(in: $0) }
        let message: [UInt8]
        do {
            message = try await environment.withLink(to: peripheral, deadline, security: security) { link in
                _ = try await environment.discover(link, deadline)
                let values = link.notifications(of: characteristic)
                let messages = values.onEach {
                    // Both count values that the kernel has dropped; beside that, the stream drops none before it
                    // fails.
                    chunks.add($0.bytes, dropped: max(values.counters.dropped, link.droppedPDUs))
                }
                .assembled(until: endMark, maximumSize: Self.largestMessage)
                guard let deadline else { return try await messages.first() }
                return try await messages.timeout(deadline.remaining, for: .wholeStream).first()
            }
        } catch {
            chunks.brokenOff()
            keep(chunks.octets, file, environment.log)
            throw Self.withEndMark(error)
        }
        chunks.complete(message.count)
        let time = RealTimeline().wallTime
        if let file {
            try commit(message, to: file, environment.log)
            environment.log.say("\(message.count) octets are in \(file.path)")
            let (size, time) = (JSON.number(message.count), JSON.string(time.isoText))
            try environment.output.print(.object(("output", .string(file.path)), ("size", size), ("time", time)))
        } else if environment.output.isJSON {
            try environment.output.print(CharacteristicValue(bytes: message[...], time: time).json())
        } else {
            try environment.output.write(message)
        }
        try environment.output.print(.object(("received", .number(chunks.count)), ("dropped", .number(chunks.dropped))))
    }

    /// The error; if the time was over after something had come, also with what often keeps a message from ending.
    private static func withEndMark(_ error: any Error) -> any Error {
        guard var failure = error as? BLEError, failure.code == .timedOut, failure.received?.isEmpty == false else {
            return error
        }
        failure.remedy += " If the whole message has come, pass its end mark with --eom or --eom-at-end."
        return failure
    }

    private func commit(_ message: [UInt8], to file: MessageFile, _ log: Log) throws {
        do {
            try file.commit(message)
        } catch is CancellationError {
            log.say("nobody has read the \(message.count) octets from \(file.path), and they are lost")
            throw CancellationError()
        }
    }

    /// Keeps what has been received of an incomplete message.
    private func keep(_ octets: [UInt8], _ file: MessageFile?, _ log: Log) {
        guard let file else {
            if !octets.isEmpty { log.say("\(octets.count) octets were received; --output FILE would have kept them") }
            return
        }
        do {
            guard let path = try file.keepPartial(octets) else {
                guard !octets.isEmpty else { return }
                return log.say(
                    "the \(octets.count) octets received are lost: \(file.path) is not a regular file, and gets whole "
                        + "messages only; --output with a regular file would have kept them"
                )
            }
            log.say("the \(octets.count) octets received are in \(path)")
        } catch {
            log.say("the \(octets.count) octets received could not be stored: \(error)")
        }
    }
}
