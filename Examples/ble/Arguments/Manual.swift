/// The manual page, in roff, generated from the tables of commands and options.
enum Manual {
    static var text: String {
        let sections = commands.map { command in
            let notes = paragraphs(of: command.notes)
            let title = escaped("ble \(command.name)\(Help.parameters(of: command))")
            let summary = escaped(command.summary.prefix(1).uppercased() + command.summary.dropFirst()) + "."
            let options = command.options.map(entry).joined(separator: "\n")
            return [".SS \"\(title)\"", summary, notes, options].filter { !$0.isEmpty }.joined(separator: "\n")
        }
        return """
            .TH BLE 1 "" "BLEStreams \(Version.text)" "User Commands"
            .SH NAME
            ble \\- talk to Bluetooth Low Energy devices
            .SH SYNOPSIS
            .B ble
            \\fICOMMAND\\fR [\\fIOPTION\\fR]… [\\fIPARAMETER\\fR]…
            .SH DESCRIPTION
            \\fIADDRESS\\fR is written like C4:F2:17:1A:1D:BB, followed by /public or /random if the kind is known.
            \\fICHARACTERISTIC\\fR is a UUID like 2A37, or a handle with 0x: 0x0012.
            .PP
            Results go to standard output, everything else to standard error; with
            .B \\-\\-json
            each line of both that begins with { is an object, whose schema
            .B ble help \\-\\-schema
            prints.
            .SH OPTIONS
            Every command has these options, except the last one, which stands in place of a command.
            \((Option.common + [.version]).map(entry).joined(separator: "\n"))
            .SH COMMANDS
            \(sections.joined(separator: "\n"))
            .SH EXIT STATUS
            .TP
            .B 0
            success
            .TP
            .B 1
            failure
            .TP
            .B 2
            incorrect usage
            .TP
            .B 130
            an interruption by Ctrl\\-C or a signal, after which the radio was cleaned up; a service of systemd needs
            .BR SuccessExitStatus=130 ,
            or it counts as failed when it is stopped
            .SH FILES
            .TP
            .I $XDG_STATE_HOME/blestreams
            bonds, services and sessions, one JSON file for each device; ~/.local/state/blestreams where the variable is
            not set, and $STATE_DIRECTORY/blestreams in a service of systemd
            .SH SEE ALSO
            .BR bluetoothctl (1),
            .BR btmon (1),
            .BR setcap (8)
            """
    }

    private static func entry(_ option: Option) -> String {
        let letter = option.letter.map { "\\fB\\-\($0)\\fR, " } ?? ""
        let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
        return ".TP\n\(letter)\\fB\\-\\-\(escaped(option.name))\\fR\(value)\n\(escaped(option.help))"
    }

    private static func paragraphs(of notes: String) -> String {
        guard !notes.isEmpty else { return "" }
        return notes.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? ".PP" : escaped(String($0)) }
            .joined(separator: "\n")
            .replacing(".PP\n.PP", with: ".PP")
    }

    /// Text, escaped so that roff doesn't interpret it.
    private static func escaped(_ text: String) -> String {
        let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\"", with: "\\(dq")
        return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : plain
    }
}
