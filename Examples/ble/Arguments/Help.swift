/// The text of `--help`, for a terminal with this number of columns. `nil`: for a pipe or a file, with lines of any
/// length.
enum Help {
    /// The help of the command as a whole.
    static func text(for columns: Int?) -> String {
        let rows = commands.map { ($0.name + parameters(of: $0), $0.summary) }
        return """
            \("usage: ble COMMAND [OPTION]… [PARAMETER]…".wrapped(to: columns))

            Talks to Bluetooth Low Energy devices.

            \(table(rows, for: columns))

            options of every command
            \(table((Option.common + [.version]).map { ($0.form, $0.help) }, for: columns))

            \(prose(end, for: columns))
            """
    }

    private static let end = """
        ADDRESS is written like C4:F2:17:1A:1D:BB, followed by /public or /random if you know the kind.

        CHARACTERISTIC is a UUID like 2A37, or a handle with 0x: 0x0012.

        Results go to standard output, everything else to standard error; with --json each line of both that begins
        with { is an object. The exit status is 0 for success, 1 for failure, 2 for incorrect usage, 130 after an
        interruption. For more, see `ble help COMMAND`, and for a manual page `ble help --manual | man -l -`.
        """

    /// The help of one subcommand.
    static func text(of command: any Command.Type, for columns: Int?) -> String {
        let rows = (command.options + Option.common).map { ($0.form, $0.help) }
        let usage = "usage: ble \(command.name) [OPTION]…\(parameters(of: command))"
        let summary = "\(command.summary.prefix(1).uppercased() + command.summary.dropFirst())."
        let notes = command.notes.isEmpty ? "" : "\n\n" + prose(command.notes, for: columns)
        return """
            \(usage.wrapped(to: columns))

            \(summary.wrapped(to: columns, hanging: 0))

            \(table(rows, for: columns))\(notes)
            """
    }

    static func parameters(of command: any Command.Type) -> String {
        command.parameters.map { " \($0)" }.joined()
    }

    // MARK: - Layout

    /// The narrowest column for an explanation beside what it explains.
    private static let narrowest = 32
    /// Longer lines are hard to read.
    private static let widest = 112

    /// Forms and their meanings, side by side, or one below the other if there is no room.
    static func table(_ rows: [(String, String)], for columns: Int?) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        let isStacked = columns.map { $0 < width + 4 + narrowest } ?? false
        return rows.map { form, help in
            guard isStacked else {
                let start = "  \(form)" + String(repeating: " ", count: width - form.count + 2)
                let lines = help.wrapped(to: columns.map { $0 - width - 4 }, hanging: 0)
                return start + lines.replacing("\n", with: "\n" + String(repeating: " ", count: width + 4))
            }
            let (form, help) = ("  \(form.drop { $0 == " " })", "      \(help)")
            return "\(form.wrapped(to: columns))\n\(help.wrapped(to: columns, hanging: 0))"
        }
        .joined(separator: "\n")
    }

    /// Paragraphs, refilled if the terminal is narrower than they were written for; indented lines keep their breaks.
    private static func prose(_ text: String, for columns: Int?) -> String {
        guard let columns else { return text }
        var lines: [String] = []
        var isOpen = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            let isFilled = !line.isEmpty && !line.hasPrefix(" ")
            if isFilled, isOpen, let last = lines.popLast() {
                lines.append("\(last) \(line)")
            } else {
                lines.append(line)
            }
            isOpen = isFilled
        }
        return lines.map { line in
            line.wrapped(to: min(columns, widest), hanging: line.hasPrefix(" ") ? 4 : 0)
        }
        .joined(separator: "\n")
    }
}

extension Option {
    /// The option as it is written: `--timeout S`, `-v, --verbose`.
    var form: String {
        (letter.map { "-\($0), " } ?? "    ") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}
