import BLEProtocol
import BLERadio

/// The answers to a pairing's questions: from a person, through closures, or a known passkey.
///
/// ```swift
/// try await link.pair(answers: .passkey(123_456))
/// ```
///
/// The closures given decide the capability that this device claims, and so the method that the two devices agree on.
/// Without any, it is Just Works, which protects against eavesdroppers but not against a man in the middle of the
/// pairing.
///
/// If set in advance, for a call, a peripheral or a central, they allow the library to make a link more secure when an
/// operation requires it:
///
/// ```swift
/// let state = try await peripheral.withLink(pairing: .passkey(123_456)) { link in
///     try await link.read(BluetoothUUID(0xFFF1))
/// }
/// ```
///
/// An operation that the peripheral answers with Insufficient Authentication, Insufficient Encryption or Encryption Key
/// Size Too Short is then repeated after the link was encrypted with the keys of a bond, or after pairing if there is
/// no bond or its level is too low. This happens once per link and level, however often the operation is refused, and
/// the time taken to answer counts towards the operation's time limit. Other operations of the link wait meanwhile, and
/// run before the repeated one; received values are delivered. A write without response is never refused, and raises
/// nothing. A bond that the peripheral has lost is an error and is not made again automatically; no bond is replaced by
/// a weaker one.
///
/// ``LocalPeripheral/pairing`` takes them too, for the centrals that pair with a peripheral of this program.
///
/// A closure runs within the call that pairs or serves, otherwise within the lifetime of the link. It is cancelled when
/// the pairing ends for any reason; the call returns, or the link is down, only after the closure has ended, so it
/// should respond to cancellation. Printing or dumping the answers shows no passkey. Source: Core Specification, Vol 3,
/// Part H, 2.3.2 and 2.3.5.1.
public struct PairingAnswers: Sendable {
    private let passkey: (@Sendable () async -> UInt32?)?
    private let compares: (@Sendable (UInt32) async -> Bool)?
    private let displays: (@Sendable (UInt32, Int) async -> Void)?
    private let limit: Duration
    /// The other device's out-of-band data.
    let outOfBand: OutOfBandData?

    /// Makes answers; without any closure, the method is Just Works.
    ///
    /// - Parameters:
    ///   - passkey: for Passkey Entry here: enters the passkey that the other device shows, 0 to 999,999; `nil`
    ///     refuses.
    ///   - compares: for Numeric Comparison: returns whether the other device shows the same number, 0 to 999,999, to
    ///     be shown with six digits.
    ///   - displays: for Passkey Entry on the other device: shows a passkey, 0 to 999,999, with six digits, and
    ///     returns; the second argument counts the digits typed there. It is called again as they are typed, if the
    ///     radio reports that; Linux doesn't. Keep showing the passkey until the pairing ends.
    ///   - limit: how long each answer may take; after that the pairing is refused. The Security Manager waits 30 s,
    ///     which includes the way to the peer.
    ///   - outOfBand: the other device's out-of-band data, from NFC or a printed code. It authenticates the pairing
    ///     with that device, and no question is asked.
    public init(
        passkey: (@Sendable () async -> UInt32?)? = nil,
        compares: (@Sendable (_ number: UInt32) async -> Bool)? = nil,
        displays: (@Sendable (_ passkey: UInt32, _ typed: Int) async -> Void)? = nil,
        limit: Duration = .seconds(28),
        outOfBand: OutOfBandData? = nil
    ) {
        self.passkey = passkey
        self.compares = compares
        self.displays = displays
        self.limit = limit
        self.outOfBand = outOfBand
    }

    /// A passkey known in advance, 0 to 999,999: printed on the other device, for a machine without a user.
    public static func passkey(_ passkey: UInt32) -> PairingAnswers { PairingAnswers(passkey: { passkey }) }

    /// The other device's out-of-band data; no question is asked. For a peripheral, it is the data of one central,
    /// which includes its address.
    public static func outOfBand(_ data: OutOfBandData) -> PairingAnswers { PairingAnswers(outOfBand: data) }

    /// A number of a pairing as it is shown everywhere: with six digits, `001234`.
    public static func digits(_ number: UInt32) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(6 - digits.count, 0)) + digits
    }

    /// The capability that follows from the given closures.
    ///
    /// Source: Core Specification, Vol 3, Part H, table 2.5.
    var capability: PairingCapability {
        switch (passkey != nil, compares != nil, displays != nil) {
        case (false, false, false): .noInputNoOutput
        case (false, false, true): .displayOnly
        case (false, true, _): .displayYesNo
        case (true, false, false): .keyboardOnly
        case (true, _, _): .keyboardDisplay
        }
    }
}

extension PairingAnswers: CustomStringConvertible, CustomReflectable {
    /// The capability that this device claims.
    public var description: String { "\(capability)" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Answering

extension PairingAnswers {
    /// Answers questions one after the other, until there are no more or the task is cancelled.
    func answer(_ questions: PairingMailbox, on timeline: any Timeline) async {
        for await (question, reply) in questions.stream {
            // The radio gets its answer in time even if the closure ignores its cancellation.
            let timer = question.needsAnswer ? timeline.schedule(after: limit) { reply(.refuse(.unanswered)) } : nil
            let answer = await answer(to: question)
            timer?.cancel()
            if let answer { reply(answer) }
        }
    }

    /// The answer; `nil` if none is needed.
    private func answer(to question: PairingQuestion) async -> PairingQuestion.Answer? {
        switch question {
        case .passkey:
            guard let passkey else { return .refuse(.needsAnswers) }
            guard let entered = await passkey() else { return .refuse(.refused) }
            return entered <= 999_999 ? .passkey(entered) : .refuse(.invalidPasskey)
        case .comparison(let number):
            guard let compares else { return .refuse(.needsAnswers) }
            return await compares(number) ? .accept : .refuse(.refused)
        case .display(let passkey, let typed):
            guard let displays else { return .refuse(.needsAnswers) }
            await displays(passkey, typed)
            return nil
        }
    }
}

/// The radio's questions during a pairing, until the call that pairs answers them.
struct PairingMailbox: Sendable {
    /// The questions, in order, for one reader.
    let stream: AsyncStream<(PairingQuestion, PairingInterview.Reply)>
    private let continuation: AsyncStream<(PairingQuestion, PairingInterview.Reply)>.Continuation

    init() {
        // A pairing asks once, or reports six typed digits: whatever a peer does, no more is kept.
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(8))
    }

    /// Puts the radio's questions into the mailbox.
    func interview(_ capability: PairingCapability, outOfBand: OutOfBandData? = nil) -> PairingInterview {
        PairingInterview(capability, outOfBand: outOfBand) { [continuation] question, reply in
            continuation.yield((question, reply))
        }
    }
}
