import BLEProtocol
import Synchronization

/// One thing that a radio does in a run: it carries a PDU, or answers what it was asked.
struct RadioStep: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        /// A PDU goes over the air.
        case pdu([UInt8])
        /// The radio has an answer or an event for the central.
        case event(String)
    }

    let number: Int
    let kind: Kind

    var pdu: [UInt8]? { if case .pdu(let octets) = kind { octets } else { nil } }

    /// `3: Read Request (0x0A)`, or `0: connected`.
    var description: String {
        switch kind {
        case .pdu(let octets): "\(number): \(octets.first.map { "\(ATTOpcode(rawValue: $0))" } ?? "nothing")"
        case .event(let name): "\(number): \(name)"
        }
    }
}

/// Counts what the radio does while an operation runs, and has something done at some of these steps.
final class StepCounter: Sendable {
    private struct State {
        var isCounting = false
        var steps: [RadioStep] = []
        var struck: [RadioStep] = []
    }

    private let state = Mutex(State())
    private let targets: Set<Int>
    private let strike: @Sendable (RadioStep) -> Void

    /// - Parameters:
    ///   - targets: the steps at which something is done.
    ///   - strike: what is done; called where the step is, which may be inside of the radio.
    init(targets: Set<Int>, strike: @escaping @Sendable (RadioStep) -> Void = { _ in }) {
        self.targets = targets
        self.strike = strike
    }

    var steps: [RadioStep] { state.withLock { $0.steps } }
    /// The steps at which something was done.
    var struck: [RadioStep] { state.withLock { $0.struck } }

    func begin() { state.withLock { $0.isCounting = true } }
    func end() { state.withLock { $0.isCounting = false } }

    /// Whether the step that was counted last has this number.
    func isAt(_ number: Int) -> Bool { state.withLock { $0.isCounting && $0.steps.last?.number == number } }

    /// Counts a step.
    func count(_ kind: RadioStep.Kind) {
        let struck = state.withLock { state -> RadioStep? in
            guard state.isCounting else { return nil }
            let step = RadioStep(number: state.steps.count, kind: kind)
            state.steps.append(step)
            guard targets.contains(step.number) else { return nil }
            state.struck.append(step)
            return step
        }
        if let struck { strike(struck) }
    }
}
