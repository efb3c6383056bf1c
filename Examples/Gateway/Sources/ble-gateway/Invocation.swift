/// What the command line says.
struct Invocation {
    /// A command line that makes no sense.
    struct Wrong: Error, CustomStringConvertible {
        var description: String
    }

    var file: String?
    var isSimulated = false
    var isCheck = false
    var interval = Duration.seconds(1)
    var counters = 0

    init(_ words: [String]) throws(Wrong) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--simulated": isSimulated = true
            case "--check": isCheck = true
            case "--interval":
                interval = .milliseconds(try Self.number(word, &words, 1...3_600_000, "a number of milliseconds"))
            case "--counters": counters = try Self.number(word, &words, 0...1000, "a number")
            case _ where word.hasPrefix("-"):
                throw Wrong(
                    description: "\(word): there is no such option. Usage: ble-gateway [--simulated] [--check] FILE"
                )
            default: file = word
            }
        }
        guard file != nil || isSimulated else {
            throw Wrong(description: "Usage: ble-gateway [--simulated] [--check] FILE. See README.md for the file.")
        }
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
