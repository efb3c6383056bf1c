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

    init(_ words: [String]) throws(Wrong) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--simulated": isSimulated = true
            case "--check": isCheck = true
            case "--interval":
                guard let number = words.popFirst().flatMap({ Int($0) }), (1...3_600_000).contains(number) else {
                    throw Wrong(description: "--interval: write a number of milliseconds from 1 to 3600000.")
                }
                interval = .milliseconds(number)
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
}
