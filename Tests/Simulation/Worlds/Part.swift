/// A part that a world can do without: what is taken away when a failing one is made smaller.
public enum Part: Hashable, Sendable {
    case peripheral(Int)
    case program(Int)
    case step(Int, of: Int)
    case fault(Int)
    case restart(Int)
    /// The jobs that run late.
    case delays
}

extension Part: CustomStringConvertible {
    /// `p2`, `c0`, `c0.1`, `f3`, `r0` or `delays`.
    public var description: String {
        switch self {
        case .peripheral(let number): "p\(number)"
        case .program(let number): "c\(number)"
        case .step(let step, let program): "c\(program).\(step)"
        case .fault(let number): "f\(number)"
        case .restart(let number): "r\(number)"
        case .delays: "delays"
        }
    }

    /// Reads what ``description`` writes.
    public init?(_ text: some StringProtocol) {
        let numbers = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        switch (text.first, numbers.count) {
        case _ where text == "delays": self = .delays
        case ("p", 1):
            guard case let number?? = numbers.first else { return nil }
            self = .peripheral(number)
        case ("f", 1):
            guard case let number?? = numbers.first else { return nil }
            self = .fault(number)
        case ("r", 1):
            guard case let number?? = numbers.first else { return nil }
            self = .restart(number)
        case ("c", 1):
            guard case let number?? = numbers.first else { return nil }
            self = .program(number)
        case ("c", 2):
            guard let program = numbers[0], let step = numbers[1] else { return nil }
            self = .step(step, of: program)
        default: return nil
        }
    }
}
