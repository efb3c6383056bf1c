import BLEStreams

/// A stream over time, drawn as text: one character is one second.
///
/// `-` nothing happens; a letter or digit is an element; `(ab)` are several things in one second; `|` is the end,
/// `#` a failure, `!` a cancellation, `~` an interruption that is over, `?` one value lost. `[text]` is one element
/// with more than one character.
struct Marbles: Equatable, Sendable {
    enum Event: Equatable, Sendable {
        case element(String)
        case end
        case failure
        case cancellation
        case interruption
        case loss
    }

    struct Mark: Equatable, Sendable {
        var second: Int
        var event: Event
    }

    var marks: [Mark] = []
}

extension Marbles {
    init(_ diagram: String) {
        var second = 0
        var isInGroup = false
        var characters = Substring(diagram)
        while let character = characters.popFirst() {
            switch character {
            case "(": isInGroup = true
            case ")": isInGroup = false
            case "-": break
            case "|": add(.end, second)
            case "#": add(.failure, second)
            case "!": add(.cancellation, second)
            case "~": add(.interruption, second)
            case "?": add(.loss, second)
            case "[":
                let text = characters.prefix { $0 != "]" }
                characters = characters.dropFirst(text.count + 1)
                add(.element(String(text)), second)
            default: add(.element(String(character)), second)
            }
            if !isInGroup { second += 1 }
        }
    }

    mutating func add(_ event: Event, _ second: Int) { marks.append(Mark(second: second, event: event)) }
}

extension Marbles: CustomStringConvertible {
    /// The diagram, as short as can be.
    var description: String {
        var text = ""
        for second in 0...(marks.last?.second ?? 0) {
            let events = marks.filter { $0.second == second }.map { Self.text(of: $0.event) }
            switch events.count {
            case 0: text += "-"
            case 1: text += events[0]
            default: text += "(\(events.joined()))"
            }
        }
        return text
    }

    private static func text(of event: Event) -> String {
        switch event {
        case .element(let text): text.count == 1 ? text : "[\(text)]"
        case .end: "|"
        case .failure: "#"
        case .cancellation: "!"
        case .interruption: "~"
        case .loss: "?"
        }
    }
}
