import BLEStreams
import ConsoleOutput
@preconcurrency import Dispatch
import Glibc

/// A person at a terminal, who gets questions on standard error and answers on standard input.
struct Terminal: Sendable {
    /// The terminal that the command runs at; `nil` if nobody could read a question or answer it.
    static let standard = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 ? Terminal() : nil

    /// Several devices may pair with this one at the same time.
    private static let turns = QuestionTurns()

    /// What is rewritten in place there, and must not be mixed with questions.
    private let liveLines = LiveLines.standard

    /// The person's answers to what a pairing asks.
    ///
    /// - Parameters:
    ///   - peripheral: the name of the other device.
    ///   - claim: the most that the person is asked for; everything unless said otherwise.
    func pairingAnswers(about peripheral: String, claiming claim: PairingClaim? = nil) -> PairingAnswers {
        let passkey: @Sendable () async -> UInt32? = {
            await Self.turns.ask { await self.passkey(of: peripheral) } ?? nil
        }
        let compares: @Sendable (UInt32) async -> Bool = { number in
            await Self.turns.ask { await agrees(PairingAnswers.digits(number), peripheral) } ?? false
        }
        let displays: @Sendable (UInt32, Int) async -> Void = { passkey, typed in
            let digits = PairingAnswers.digits(passkey)
            say(typed == 0 ? "Type \(digits) on \(peripheral)." : "\(typed) of 6 digits typed.")
        }
        return switch claim {
        case .display: PairingAnswers(displays: displays)
        case .yesNo: PairingAnswers(compares: compares, displays: displays)
        case .keyboard: PairingAnswers(passkey: passkey)
        case nil: PairingAnswers(passkey: passkey, compares: compares, displays: displays)
        }
    }

    private func passkey(of peripheral: String) async -> UInt32? {
        while true {
            let line = await ask("Passkey that \(peripheral) shows (an empty line refuses):")
            guard let line, !line.isEmpty else {
                return nil
            }
            if let passkey = UInt32(passkey: line) { return passkey }
            say("A passkey has six digits.")
        }
    }

    private func agrees(_ digits: String, _ peripheral: String) async -> Bool {
        while true {
            guard let line = await ask("Does \(peripheral) show \(digits)? (y/n)") else { return false }
            switch line.lowercased() {
            case "y", "yes": return true
            case "n", "no": return false
            default: continue
            }
        }
    }

    /// The line typed after the question; `nil` if there is none, or the task is cancelled.
    private func ask(_ question: String) async -> String? {
        // What was typed before the question doesn't answer it.
        tcflush(STDIN_FILENO, TCIFLUSH)
        liveLines.ask(shown(question) + " ", on: STDERR_FILENO)
        let answer = try? await Self.lines.first()
        liveLines.answered(withLineEnd: answer != nil)
        return answer
    }

    private func say(_ text: String) { liveLines.put(shown(text) + "\n", on: STDERR_FILENO) }

    private func shown(_ text: String) -> String { text.harmlessLines.wrapped(to: Log.columns, hanging: 0) }

    /// The lines that the terminal delivers; ends with the input.
    private static var lines: BLEStream<String> {
        BLEStream { feed in
            let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
            source.setEventHandler {
                var octets = [UInt8](repeating: 0, count: 256)
                let count = read(STDIN_FILENO, &octets, octets.count)
                guard count > 0 else { return feed.finish() }
                feed.send(String(decoding: octets.prefix(count).filter { $0 > 32 }, as: UTF8.self))
            }
            source.activate()
            return { source.cancel() }
        }
    }
}
