/// What the command line says.
struct Invocation {
    /// A command line that makes no sense.
    struct Wrong: Error, CustomStringConvertible {
        var description: String
    }

    /// What the program is called with.
    static let usage = """
        Usage: ble-gateway FILE                   run with the configuration in FILE
               ble-gateway --check FILE           say whether FILE is valid, and end
               ble-gateway --simulated [FILE]     run with simulated sensors, without an adapter
                           --interval N           let each of them send every N milliseconds; 1000 by default
                           --counters N           simulate N counters more
        Examples/Gateway/README.md describes the file.
        """

    var file: String?
    var isHelp = false
    var isSimulated = false
    var isCheck = false
    var interval = Duration.seconds(1)
    var counters = 0

    init(_ words: [String]) throws(Wrong) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--help", "-h": isHelp = true
            case "--simulated": isSimulated = true
            case "--check": isCheck = true
            case "--interval":
                interval = .milliseconds(try Self.number(word, &words, 1...3_600_000, "a number of milliseconds"))
            case "--counters": counters = try Self.number(word, &words, 0...1000, "a number")
            case _ where word.hasPrefix("-"):
                throw Wrong(
                    description: "\(word): there is no such option. Usage: ble-gateway [--simulated] [--check] FILE"
                )
            case "": throw Wrong(description: "the name of the file is empty. Write the path of a configuration.")
            default:
                // Of several, the others would not be checked.
                if let file { throw Wrong(description: "\(file) and \(word): pass one file at a time.") }
                file = word
            }
        }
        guard file != nil || isSimulated && !isCheck || isHelp else { throw Wrong(description: Self.usage) }
    }

    private static func number(
        _ option: String,
        _ words: inout ArraySlice<String>,
        _ range: ClosedRange<Int>,
        _ what: String
    ) throws(Wrong) -> Int {
        guard let number = words.popFirst().flatMap({ Int($0) }), range.contains(number) else {
            throw Wrong(description: "\(option): write \(what) from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
