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
            \(table((Option.common + [.version]).map { ($0.form, $0.help) }))

            ADDRESS is written like C4:F2:17:1A:1D:BB, followed by /public or /random if you know the kind.
            CHARACTERISTIC is a UUID like 2A37, or a handle with 0x: 0x0012.

            Results go to standard output, everything else to standard error; with --json each line of both that begins
            with { is an object. The exit status is 0 for success, 1 for failure, 2 for incorrect usage, 130 after an
            interruption. For more, see `ble help COMMAND`, and for a manual page `ble help --manual | man -l -`.
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

    static func parameters(of command: any Command.Type) -> String {
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
    var form: String {
        (letter.map { "-\($0), " } ?? "    ") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}
