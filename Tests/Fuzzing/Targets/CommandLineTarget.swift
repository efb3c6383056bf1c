@testable import ble

extension FuzzTarget {
    /// The words behind `ble`, a line each: they are a command, a help, or refused with the reason.
    static let commandLine = FuzzTarget("command-line", longest: 256, seeds: CommandLine.seeds) { octets in
        switch Invocation(CommandLine.words(octets)) {
        case .command: break
        case .help(let text): try require(text.contains("ble "), "a help that names no command")
        case .refused(let text):
            try require(text.hasPrefix("ble") && text.hasSuffix("\n"), "refused without a reason: \(text)")
            try require(text.contains("--help") || text.contains("missing"), "refused without what to do: \(text)")
        }
    }
}

private enum CommandLine {
    /// What a shell would hand over; where a path could lead to a device, to its name alone, and never to standard
    /// input, which may be waited for.
    static func words(_ octets: [UInt8]) -> [String] {
        let text = String(decoding: octets.filter { $0 != 0 }, as: UTF8.self)
        return text.split(separator: "\n", maxSplits: 40).map { word in
            let isAddress = word.hasSuffix("/public") || word.hasSuffix("/random")
            return isAddress ? String(word) : String(word.map { $0 == "/" ? "_" : $0 }).replacing("@-", with: "@_")
        }
    }

    /// Each command with what it needs, and each of its options with a value that it may take.
    static var seeds: [[UInt8]] {
        var lines = [["--help"], ["--json", "-v", "scan"]]
        for command in commands {
            let words = [command.name] + command.parameters.map(word)
            lines += [words, [command.name, "--help"]]
            for option in command.options + Option.common {
                let values = option.value == nil ? [[]] : values.map { [$0] }
                for value in values { lines.append(words + ["--\(option.name)"] + value) }
            }
        }
        return lines.map { Array($0.joined(separator: "\n").utf8) }
    }

    private static func word(_ parameter: String) -> String {
        switch parameter {
        case "ADDRESS": "C4:F2:17:1A:1D:BB/public"
        case "CHARACTERISTIC": "2A37"
        case "FILE": "image.bin"
        default: "00ff"
        }
    }

    private static let values = [
        "7", "0.5", "180D", "-80..-40", "heart-rate", "temperature=21.5", "180F:64", "all", "on",
    ]
}
