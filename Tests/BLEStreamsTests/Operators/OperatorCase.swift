import BLEStreams
import Testing

/// One operator, with all that the tests of every operator need of it: `OperatorCase+All.swift` lists them.
struct OperatorCase: Sendable {
    /// A stream of letters goes in, and what comes out is letters again.
    typealias Apply = @Sendable (BLEStream<String>) -> BLEStream<String>

    /// How a call treats what has arrived and waits: some parts of the contract depend on it.
    enum Manner: Sendable {
        /// It leaves it to the source's buffer.
        case plain
        /// It takes everything from the source's buffer at once: what waits, waits in it.
        case buffering
        /// It has a source of its own, whose counters are added.
        case pairing
        /// It opens streams: when they are stopped, what waits for that is dropped.
        case opening
    }

    /// One call of the operator.
    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let manner: Manner
        let apply: Apply
    }

    /// Its name in the documentation: `reductions(into:_:)`.
    let symbol: String
    /// Calls for which the contract is checked.
    private(set) var calls: [Call] = []
    /// Calls with a closure that throws at "b".
    private(set) var throwingCalls: [Call] = []
    /// What the guide shows of it.
    private(set) var pictures: [OperatorPicture] = []
    /// Why the contract can't be checked; `nil` if it is.
    private(set) var exemption: String?

    init(_ symbol: String) { self.symbol = symbol }
}

extension OperatorCase {
    /// Adds a call, so set that every element passes in the second in which it comes.
    ///
    /// - Parameter form: what distinguishes it from other calls of the operator.
    func passing(_ form: String = "", _ manner: Manner = .plain, _ apply: @escaping Apply) -> Self {
        var changed = self
        changed.calls.append(Call(testDescription: name(form), manner: manner, apply: apply))
        return changed
    }

    /// Adds a call whose closure is ``refusing(_:)``; else every element passes.
    func throwing(_ form: String = "", _ apply: @escaping Apply) -> Self {
        var changed = self
        changed.throwingCalls.append(Call(testDescription: name(form), manner: .plain, apply: apply))
        return changed
    }

    /// Adds a picture. See ``OperatorPicture``.
    func drawn<Element: Sendable>(
        _ name: String,
        _ inputs: String...,
        code: String,
        isBusyFor: Int = 0,
        build: @escaping @Sendable ([BLEStream<String>]) -> BLEStream<Element>
    ) -> Self {
        var changed = self
        changed.pictures.append(OperatorPicture(name, inputs, code: code, isBusyFor: isBusyFor, build: build))
        return changed
    }

    /// Says why there is no call for which the contract can be checked.
    func exempt(since reason: String) -> Self {
        var changed = self
        changed.exemption = reason
        return changed
    }

    private func name(_ form: String) -> String { form.isEmpty ? symbol : "\(symbol), \(form)" }
}

/// A program's closure that fails at "b".
@Sendable func refusing(_ element: String) throws -> String {
    if element == "b" { throw Stage.failure }
    return element
}
