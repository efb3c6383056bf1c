import BLEProtocol
import BLERadio

/// Who answers what a pairing asks: a person through closures, or a passkey that is known.
///
/// ```swift
/// try await link.pair(answers: .passkey(123_456))
/// ```
///
/// What is given decides what this device claims to be able to do, and so what the two devices agree upon. With nothing it
/// is Just Works, which protects from listeners, and not from somebody who stands between the two while they pair.
///
/// Said beforehand, for a call, a peripheral or a central, they let a link be made more secure when that turns out to be needed:
///
/// ```swift
/// let state = try await peripheral.withLink(pairing: .passkey(123_456)) { link in try await link.read(BluetoothUUID(0xFFF1)) }
/// ```
///
/// An operation that the peripheral answers with Insufficient Authentication, Insufficient Encryption or Encryption Key Size Too
/// Short then has the link encrypted with the keys of a bond, paired with where there are none, or paired with anew where the
/// bond is good for less, and is repeated. That is done once for a link and each level, however often it is refused, and the
/// time that somebody takes to answer counts in the operation's time limit. Other operations of the link wait meanwhile, and
/// come before the repeated one; what the link receives is delivered. A write without response is never refused, and has
/// nothing raised.
/// A bond that the peripheral has lost is an error, and not paired for again; nor is one replaced by a weaker one.
///
/// A peripheral of this program's own is given them too, ``LocalPeripheral/pairing``, for the centrals that pair with it.
///
/// A closure runs within the call that pairs, or that serves, or else for as long as the link: it is cancelled when the pairing
/// ends, for whatever reason, and the call returns, or the link is down, only after it, so it should heed cancellation. Printing or dumping the answers shows no passkey.
/// Source: Core Specification, Vol 3, Part H, 2.3.2 and 2.3.5.1.
public struct PairingAnswers: Sendable {
    /// How long an answer may take unless said otherwise: the Security Manager waits 30 s for it, and it must get there.
    public static let usualLimit = Duration.seconds(28)

    private let passkey: (@Sendable () async -> UInt32?)?
    private let compares: (@Sendable (UInt32) async -> Bool)?
    private let displays: (@Sendable (UInt32, Int) async -> Void)?
    private let limit: Duration
    /// What the other device has told by other means than Bluetooth.
    let outOfBand: OutOfBandData?

    /// Says who answers; without any closure nobody is asked.
    ///
    /// - Parameters:
    ///   - passkey: enters the passkey that the other device shows, 0 to 999,999; `nil` refuses.
    ///   - compares: says whether the other device shows the same number, 0 to 999,999, shown with six digits.
    ///   - displays: shows a passkey, 0 to 999,999, with six digits, with how many of them have been typed on the other device,
    ///     and returns. It is called again as they are, where the radio tells of that; Linux doesn't. What is shown stays
    ///     until the pairing ends.
    ///   - limit: how long each answer may take; after that it is a refusal.
    ///   - outOfBand: what the other device has told by other means than Bluetooth, NFC or a printed code. It makes sure of the
    ///     pairing with that device, and nothing is asked.
    public init(
        passkey: (@Sendable () async -> UInt32?)? = nil,
        compares: (@Sendable (_ number: UInt32) async -> Bool)? = nil,
        displays: (@Sendable (_ passkey: UInt32, _ typed: Int) async -> Void)? = nil,
        limit: Duration = usualLimit,
        outOfBand: OutOfBandData? = nil
    ) {
        self.passkey = passkey
        self.compares = compares
        self.displays = displays
        self.limit = limit
        self.outOfBand = outOfBand
    }

    /// A passkey that is known beforehand, 0 to 999,999: printed on the other device, for a machine without a person.
    public static func passkey(_ passkey: UInt32) -> PairingAnswers { PairingAnswers(passkey: { passkey }) }

    /// What the other device has told by other means than Bluetooth; nothing is asked. A peripheral is given what one central has
    /// told, which says its address.
    public static func outOfBand(_ data: OutOfBandData) -> PairingAnswers { PairingAnswers(outOfBand: data) }

    /// A number of a pairing as it is shown everywhere: with six digits, `001234`.
    public static func digits(_ number: UInt32) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(6 - digits.count, 0)) + digits
    }

    /// What this device can do, going by what was given.
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

extension PairingAnswers: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What this device claims to be able to do.
    public var description: String { "\(capability)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - Answering

extension PairingAnswers {
    /// Answers what comes, one after the other, until there is no more or the task is cancelled.
    func answer(_ questions: PairingMailbox, on timeline: any Timeline) async {
        for await (question, reply) in questions.stream {
            // The radio is told in time, also where whoever was asked doesn't heed that the time is over.
            let timer = question.needsAnswer ? timeline.schedule(after: limit) { reply(.refuse(.unanswered)) } : nil
            let answer = await answer(to: question)
            timer?.cancel()
            if let answer { reply(answer) }
        }
    }

    /// The answer; `nil` where none is needed.
    private func answer(to question: PairingQuestion) async -> PairingAnswer? {
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

extension PairingQuestion {
    fileprivate var needsAnswer: Bool { if case .display = self { false } else { true } }
}

/// What a radio asks while a pairing is under way, until it is answered within the call that pairs.
struct PairingMailbox: Sendable {
    /// The questions, in order, for one reader.
    let stream: AsyncStream<(PairingQuestion, PairingInterview.Reply)>
    private let continuation: AsyncStream<(PairingQuestion, PairingInterview.Reply)>.Continuation

    init() {
        // A pairing asks once, or shows six digits being typed: whatever a peer does, no more is kept.
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(8))
    }

    /// Puts what the radio asks into the mailbox.
    func interview(_ capability: PairingCapability, outOfBand: OutOfBandData? = nil) -> PairingInterview {
        PairingInterview(capability, outOfBand: outOfBand) { [continuation] question, reply in
            continuation.yield((question, reply))
        }
    }
}
