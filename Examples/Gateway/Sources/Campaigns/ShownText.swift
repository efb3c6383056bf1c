extension String {
    /// The text as a log may show it, whoever has written it: with nothing that a terminal would interpret or that
    /// would begin another line, and of no more than so many Unicode scalars.
    package func shown(limit: Int) -> String {
        var text = ""
        for scalar in unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.dropFirst(limit).isEmpty ? text : text + "…"
    }
}
