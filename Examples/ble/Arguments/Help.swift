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
            \(table(Option.common.map { ($0.form, $0.help) }, for: columns))

            option in place of a command
            \(table([(Option.version.form, Option.version.help)], for: columns))

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
        let usage = "usage: ble \(command.name) [OPTION]…\(parameters(of: command))"
        return text(of: command, usage: usage, command.options + Option.common, for: columns)
    }

    /// The help of one subcommand, with the usage and the options that it has where it is run.
    static func text(
        of command: any Command.Type,
        usage: String,
        _ options: [Option],
        for columns: Int?
    ) -> String {
        let rows = options.map { ($0.form, $0.help) }
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

    /// Forms and their meanings, side by side, or one below the other if there is no room. A form that is much longer
    /// than others stands above its meaning, and takes no room from theirs.
    static func table(_ rows: [(String, String)], for columns: Int?) -> String {
        let lengths = rows.map(\.0.count)
        let width = lengths.filter { $0 <= columns.map { $0 * 2 / 5 } ?? .max }.max() ?? lengths.max() ?? 0
        let isStacked = columns.map { $0 < width + 4 + narrowest } ?? false
        return rows.map { form, help in
            guard isStacked else {
                let margin = String(repeating: " ", count: width + 4)
                let gap =
                    form.count > width ? "\n\(margin)" : String(repeating: " ", count: width - form.count + 2)
                return "  \(form)\(gap)" + help.wrapped(behind: margin, to: columns)
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
            let room = min(columns, widest)
            // A word and its meaning, in a list.
            if let item = line.wholeMatch(of: /( {2}[^ ]+ {2,})([^ ].*)/), item.1.count + narrowest <= room {
                let margin = String(repeating: " ", count: item.1.count)
                return item.1 + String(item.2).wrapped(behind: margin, to: room)
            }
            return line.wrapped(to: room, hanging: line.hasPrefix(" ") ? 4 : 0)
        }
        .joined(separator: "\n")
    }
}

extension String {
    /// The text in a column of its own, behind a margin that its first line has already.
    fileprivate func wrapped(behind margin: String, to columns: Int?) -> String {
        wrapped(to: columns.map { $0 - margin.count }, hanging: 0).replacing("\n", with: "\n\(margin)")
    }
}

extension Option {
    /// The option as it is written: `--timeout S`, `-v, --verbose`.
    var form: String {
        (letter.map { "-\($0), " } ?? "    ") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}
