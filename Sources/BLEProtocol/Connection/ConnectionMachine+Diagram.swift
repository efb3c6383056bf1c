extension ConnectionMachine {
    /// The table as a diagram in Mermaid's language: what the documentation shows.
    ///
    /// What all states with a link have in common is drawn once, from the state around them. An arrow stands for all
    /// triggers that lead from one state to another.
    package static var diagram: String {
        let states = SessionState.Kind.allCases
        let linked = states.filter { $0.phase == .connected }
        let shared = rules.filter { rule in
            linked.allSatisfy { kind in
                rules.contains {
                    $0.from == kind && $0.trigger == rule.trigger && $0.condition == rule.condition && $0.to == rule.to
                }
            }
        }
        var lines = ["stateDiagram-v2", "    [*] --> initial"]
        for phase in SessionState.Phase.allCases where phase != .failed {
            lines.append("    state \(phase) {")
            lines += states.filter { $0.phase == phase }.map { "        \($0)" }
            lines.append("    }")
        }
        var arrows: [(ends: String, labels: [String])] = []
        for rule in rules {
            let isShared = shared.contains {
                rule.from.phase == .connected && $0.trigger == rule.trigger && $0.condition == rule.condition
                    && $0.to == rule.to
            }
            let ends = "\(isShared ? "\(rule.from.phase)" : "\(rule.from)") --> \(rule.to)"
            let label = rule.label
            if let index = arrows.firstIndex(where: { $0.ends == ends }) {
                if !arrows[index].labels.contains(label) { arrows[index].labels.append(label) }
            } else {
                arrows.append((ends, [label]))
            }
        }
        lines += arrows.map { "    \($0.ends) : \($0.labels.joined(separator: " / "))" }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The table as a table in Markdown: each rule a line.
    package static var markdownTable: String {
        let head = "| state | trigger | condition | next state | to be done |\n|---|---|---|---|---|\n"
        let lines = rules.map { rule in
            let effects = rule.effects.map(\.rawValue).joined(separator: ", ")
            return "| \(rule.from) | \(rule.trigger) | \(rule.condition) | \(rule.to) | \(effects) |\n"
        }
        return head + lines.joined()
    }
}

extension SessionRule {
    fileprivate var label: String {
        let text = condition.description
        return text.isEmpty ? "\(trigger)" : "\(trigger) [\(text)]"
    }
}
