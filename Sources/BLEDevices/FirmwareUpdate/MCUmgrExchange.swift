import BLEProtocol
import BLERadio
import BLEStreams

/// Requests and answers of the Simple Management Protocol over its characteristic, several at a time.
final class MCUmgrExchange {
    static let service: BluetoothUUID = "8D53DC1D-1DB7-4CD3-868B-8A527460AA84"
    static let characteristic: BluetoothUUID = "DA2E7828-FBCE-4E01-AE9E-261174997C48"

    let context: CommandContext
    private let kind: Link.WriteKind
    private let patience: Duration
    private let retry: RetryPolicy
    private var reassembler = MCUmgrReassembler()
    private var answers: [MCUmgrMessage] = []
    /// The commands of the latest requests, by their sequence numbers.
    private var asked: [UInt8: MCUmgrMessage.Command] = [:]

    /// The most octets of one write.
    private let longestWrite: Int

    /// The largest request in octets, at most the device's buffer: one write, or several if a write holds too little.
    private(set) var maximumRequest: Int
    /// Whether the device has told the size of its buffer.
    private var isLimitKnown = false
    /// Whether the flow has reset the device before: it may run another firmware now.
    let hasReset: Bool

    /// A write that holds less than this holds hardly anything of an image beside a request's own octets. Links without
    /// an exchange of the MTU have such writes, and so has a link that was up before the program began.
    static let leastRequest = 128
    /// The largest request in several writes: a device that loses one of them is to receive little again.
    private static let longestInParts = 512

    /// Subscribes to the answers.
    ///
    /// - Parameters:
    ///   - patience: how long an answer may take.
    ///   - retry: how often to ask a device again that is busy or does not answer.
    ///   - hasReset: whether the flow has reset the device before.
    init(in context: CommandContext, patience: Duration, retry: RetryPolicy, hasReset: Bool = false) async throws {
        self.context = context
        self.patience = patience
        self.retry = retry
        self.hasReset = hasReset
        longestWrite = context.maximumWriteLength
        maximumRequest = max(longestWrite, Self.leastRequest)
        let properties = try await context.properties(of: Self.characteristic)
        kind = properties.contains(.writeWithoutResponse) ? .withoutResponse : .withResponse
        try await context.subscribe(to: Self.characteristic, tellsOfLosses: true)
    }

    /// Records the size of the device's buffer.
    func limitRequests(to size: Int) {
        isLimitKnown = true
        maximumRequest = min(longestWrite < Self.leastRequest ? Self.longestInParts : maximumRequest, size)
    }

    /// Makes the next requests smaller, since one was not answered; returns whether they are.
    ///
    /// A device drops what its buffer can't hold, however large the MTU is, and says nothing of it: only one that tells
    /// its limits is known to take more. Source: Zephyr, `smp_bt.c`, with buffers of 384 octets unless configured.
    func shrinkRequests() -> Bool {
        guard !isLimitKnown, maximumRequest > Self.leastRequest else { return false }
        maximumRequest = max(Self.leastRequest, maximumRequest / 2)
        return true
    }

    /// Sends a request, and returns the sequence number that its answer will carry.
    ///
    /// A request that is longer than a write takes several: the device finds its end by the length in its header, as
    /// this side does with answers. Source: Zephyr, `subsys/mgmt/mcumgr/transport`, `smp_reassembly.c`.
    func send(_ operation: MCUmgrMessage.Operation, _ command: MCUmgrMessage.Command, _ body: CBORValue) async throws
        -> UInt8
    {
        let sequence = try context.nextRequestNumber()
        let message = MCUmgrMessage(operation, command, sequence: sequence, body: body)
        asked[sequence] = command
        let octets = message.encoded
        if octets.count <= longestWrite {
            try await context.write(octets, to: Self.characteristic, kind)
        } else {
            try await context.write(octets, inPartsOf: longestWrite, to: Self.characteristic, kind)
        }
        return sequence
    }

    /// Whether a retry may help: the device is busy, or has not answered in time.
    static func isPassing(_ error: any Error) -> Bool {
        if let failure = error as? MCUmgrFailure { return failure.isPassing }
        guard let error = error as? BLEError else { return false }
        return error.code == .timedOut && !error.isFinal
    }

    /// Sends a request and waits for its answer; repeats it, after a pause, if the device is busy or does not answer.
    ///
    /// - Parameter patience: how long the answer may take; `nil`: as long as any other.
    /// - Throws: ``MCUmgrFailure`` if the device reports a failure.
    func request(
        _ operation: MCUmgrMessage.Operation,
        _ command: MCUmgrMessage.Command,
        _ body: CBORValue = .map([]),
        patience: Duration? = nil
    ) async throws -> CBORValue {
        var persistence = Persistence(retry, on: context.timeline)
        while true {
            do {
                return try await response(to: try await send(operation, command, body), command, patience)
            } catch let error where Self.isPassing(error) {
                persistence.note(error)
                try await persistence.pause()
            }
        }
    }

    private func response(
        to sequence: UInt8,
        _ command: MCUmgrMessage.Command,
        _ patience: Duration?
    ) async throws -> CBORValue {
        let answer = try await answer(patience: patience) { $0.sequence == sequence && $0.command == command }
        if var failure = MCUmgrFailure(answer.body) {
            failure.isOfReading = answer.operation == .readResponse
            // Parts of an image don't come this way.
            failure.mayLackSlot = false
            throw failure
        }
        return answer.body
    }

    /// The next answer that is awaited. One to an abandoned request is ignored, and doesn't prolong the wait.
    ///
    /// - Parameter patience: how long the answer may take to begin, and then each of its parts behind the one before.
    func answer(patience: Duration? = nil, where isAwaited: (MCUmgrMessage) -> Bool) async throws -> MCUmgrMessage {
        let patience = patience ?? self.patience
        let end = context.timeline.now + patience
        do {
            while true {
                let message = try await nextMessage(before: end, patience)
                if isAwaited(message) { return message }
            }
        } catch let error as BLEError where error.code == .timedOut {
            // The message that has begun is given up: the next octets begin another.
            reassembler = MCUmgrReassembler()
            var error = error
            // The last wait was shorter, and the device may have said something else meanwhile.
            error.cause = "the device has not begun or continued its answer within \(patience)"
            error.elapsed = patience
            throw error
        }
    }

    /// The next message of the device, to whichever request.
    private func nextMessage(before end: Duration, _ patience: Duration) async throws -> MCUmgrMessage {
        var (end, longest) = (end, reassembler.count)
        while answers.isEmpty {
            let heard = try await context.valueOrLoss(timeout: max(.zero, end - context.timeline.now))
            guard let (value, source) = heard else {
                // A part may be missing: what is behind it doesn't continue what came before.
                reassembler = MCUmgrReassembler()
                continue
            }
            guard source == Self.characteristic.reference else { continue }
            // Some devices answer what is written as if it were read.
            let messages = reassembler.append(value) {
                $0.operation.response == nil && asked[$0.sequence] == $0.command
            }
            for message in messages {
                switch message {
                case .success(let message): answers.append(message)
                case .failure(let error):
                    var violation = BLEError.update(
                        .protocolViolation,
                        context,
                        "an answer of the device can't be read: \(error)",
                        BLEError.faultyFirmware
                    )
                    violation.received = Array(value)
                    throw violation
                }
            }
            // A message that goes on is not given up: its rest would be taken for another message. One that only begins
            // again and again doesn't go on.
            if reassembler.count > longest { end = max(end, context.timeline.now + patience) }
            longest = max(longest, reassembler.count)
        }
        return answers.removeFirst()
    }
}
