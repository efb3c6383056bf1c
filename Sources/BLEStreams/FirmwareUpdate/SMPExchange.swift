import BLEProtocol

/// Requests and answers of the Simple Management Protocol over its characteristic, several at a time.
final class SMPExchange {
    static let service = BluetoothUUID(high: 0x8D53_DC1D_1DB7_4CD3, low: 0x868B_8A52_7460_AA84)
    static let characteristic = BluetoothUUID(high: 0xDA2E_7828_FBCE_4E01, low: 0xAE9E_2611_7499_7C48)

    private let channel: FlowChannel
    private let kind: WriteKind
    private let patience: Duration
    private var reassembler = SMPReassembler()
    private var answers: [SMPMessage] = []
    private var lastSequence: UInt8 = 0

    /// The largest request in octets: one write, and no more than the device holds.
    private(set) var maximumRequest: Int

    /// Subscribes to the answers.
    init(on channel: FlowChannel, patience: Duration) async throws {
        self.channel = channel
        self.patience = patience
        maximumRequest = channel.maximumWriteLength
        let properties = try await channel.properties(of: Self.characteristic)
        kind = properties.contains(.writeWithoutResponse) ? .withoutResponse : .withResponse
        try await channel.subscribe(to: Self.characteristic)
    }

    /// Takes note of how much the device holds.
    func limitRequests(to size: Int) { maximumRequest = min(maximumRequest, size) }

    /// Sends a request; the sequence number by which its answer is known.
    func send(_ operation: SMPMessage.Operation, _ command: SMPMessage.Command, _ body: CBORValue) async throws -> UInt8
    {
        lastSequence &+= 1
        let message = SMPMessage(operation, command, sequence: lastSequence, body: body)
        try await channel.write(message.encoded, to: Self.characteristic, kind)
        return message.sequence
    }

    /// Sends a request and waits for its answer.
    ///
    /// - Throws: ``SMPFailure`` where the device says that it can't.
    func request(
        _ operation: SMPMessage.Operation,
        _ command: SMPMessage.Command,
        _ body: CBORValue = .map([]),
        patience: Duration? = nil
    ) async throws -> CBORValue {
        let sequence = try await send(operation, command, body)
        while true {
            let answer = try await answer(patience: patience)
            // An answer to what nobody waits for any more is let go.
            guard answer.sequence == sequence, answer.command == command else { continue }
            if let failure = SMPFailure(answer.body) { throw failure }
            return answer.body
        }
    }

    /// The next answer, whatever it is to.
    func answer(patience: Duration? = nil) async throws -> SMPMessage {
        while answers.isEmpty {
            let (value, source) = try await channel.value(timeout: patience ?? self.patience)
            guard source == Self.characteristic else { continue }
            for message in reassembler.append(value) {
                switch message {
                case .success(let message): answers.append(message)
                case .failure(let error):
                    var violation = BLEError.update(
                        .protocolViolation,
                        channel,
                        "an answer of the device can't be read: \(error)",
                        "Its firmware has to be looked at."
                    )
                    violation.received = Array(value)
                    throw violation
                }
            }
        }
        return answers.removeFirst()
    }
}
