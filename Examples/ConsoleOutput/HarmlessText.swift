extension String {
    /// The text without anything that could move a terminal's cursor, change its colours, reverse the direction of what
    /// follows, or spill over its line: a device can have any name.
    package var harmless: String {
        var text = ""
        var marks = 0
        for scalar in unicodeScalars {
            marks = scalar.columns == 0 ? marks + 1 : 0
            // No script puts more marks on one letter.
            if marks > 3 { continue }
            if scalar.isPrintable {
                text.unicodeScalars.append(scalar)
            } else {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return text
    }

    /// The text with whatever a terminal would interpret escaped, line by line.
    package var harmlessLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).harmless }.joined(separator: "\n")
    }
}

extension Unicode.Scalar {
    /// Whether it is shown as it is in a line.
    package var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
