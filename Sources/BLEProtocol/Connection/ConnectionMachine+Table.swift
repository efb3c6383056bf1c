extension ConnectionMachine {
    /// The table of rules in Markdown, one line for each rule.
    package static var markdownTable: String {
        let head = "| state | trigger | condition | next state | to be done |\n|---|---|---|---|---|\n"
        let lines = rules.map { rule in
            let effects = rule.effects.map(\.rawValue).joined(separator: ", ")
            return "| \(rule.from) | \(rule.trigger) | \(rule.condition) | \(rule.to) | \(effects) |\n"
        }
        return head + lines.joined()
    }
}
