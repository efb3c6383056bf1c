/// A sentence of the contract that every radio must keep, whatever carries its PDUs, with its check.
///
/// Source: the documentation of `Radio`, `ATTLink` and `ATTLinkReceiver`.
package struct RadioClause: Sendable, CustomStringConvertible {
    package let description: String
    /// What a stage must have for it.
    package let needs: Set<RadioAbility>
    /// Throws where the radio breaks it.
    package let check: @Sendable (RadioStage) async throws -> Void

    init(
        _ description: String,
        _ needs: Set<RadioAbility>,
        _ check: @escaping @Sendable (RadioStage) async throws -> Void
    ) {
        self.description = description
        self.needs = needs
        self.check = check
    }
}

extension RadioClause {
    /// The whole contract.
    package static let all = adapter + scanning + roles + connecting + traffic + endings

    /// The clauses that can be checked where there is only so much.
    package static func all(for abilities: Set<RadioAbility>) -> [RadioClause] {
        all.filter { $0.needs.isSubset(of: abilities) }
    }
}
