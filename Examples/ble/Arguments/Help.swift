/// What `--help` says.
enum Help {
    /// The help of the command as a whole.
    static var text: String {
        let rows = commands.map { ($0.name + parameters(of: $0), $0.summary) }
        return """
            usage: ble COMMAND [OPTION]… [PARAMETER]…

            Talks to Bluetooth Low Energy devices.

            \(table(rows))

            options of every command
            \(table(Option.common.map { ($0.form, $0.help) }))

            ADDRESS is written C4:F2:17:1A:1D:BB, with /public or /random behind it where you know which.
            CHARACTERISTIC is a UUID like 2A37, or a handle with its 0x: 0x0012.

            Results go to standard output, everything else to standard error; with --json each line of both that
            begins with { is an object. The exit status is 0 when it is done, 1 when it failed, 2 when it was called
            wrongly, 130 when it was interrupted. `ble COMMAND --help` says more.
            """
    }

    /// The help of one subcommand.
    static func text(of command: any Command.Type) -> String {
        let rows = (command.options + Option.common).map { ($0.form, $0.help) }
        let notes = command.notes.isEmpty ? "" : "\n\n" + command.notes
        return """
            usage: ble \(command.name) [OPTION]…\(parameters(of: command))

            \(command.summary.prefix(1).uppercased() + command.summary.dropFirst()).

            \(table(rows))\(notes)
            """
    }

    private static func parameters(of command: any Command.Type) -> String {
        command.parameters.map { " \($0)" }.joined()
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { form, help in
            "  " + form + String(repeating: " ", count: width - form.count + 2) + help
        }.joined(separator: "\n")
    }
}

extension Option {
    /// How the option is written: `--timeout S`, `-v, --verbose`.
    fileprivate var form: String {
        (letter.map { "-\($0), " } ?? "    ") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}
