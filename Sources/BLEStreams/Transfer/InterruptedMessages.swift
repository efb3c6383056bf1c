import Synchronization

extension PeripheralServer {
    /// The server or a closure has accepted a value, or one was written without response, and nobody was told: if
    /// messages of the characteristic were iterated before, it may be the beginning of one.
    func noteUnheard(_ value: [UInt8], at handle: UInt16, by central: ConnectedCentral) {
        let marks = iterated.marks
        guard !marks.isEmpty, let characteristic = declared(at: handle) else { return }
        for (name, mark) in marks where name.names(characteristic) {
            central.state.withLock { $0.interruptedMessages.pass(over: value, of: name, endingWith: mark) }
        }
    }
}

/// The characteristics of which messages were ever iterated, by the names that the iterations gave them, with the
/// latest mark of each.
final class IteratedMessages: Sendable {
    private let all = Mutex<[CharacteristicSelector: EndMark]>([:])

    var marks: [CharacteristicSelector: EndMark] { all.withLock { $0 } }

    func add(_ name: CharacteristicSelector, endingWith mark: EndMark) { all.withLock { $0[name] = mark } }
}

/// The characteristics to which a central may write the rest of a message next, of which no iteration has the
/// beginning.
struct InterruptedMessages {
    private var cutOff: Set<CharacteristicSelector> = []
    /// What looks for the end of a message that nobody hears; it keeps no more than the beginning of a mark.
    private var unheard: [CharacteristicSelector: MessageAssembler] = [:]

    func contains(_ name: CharacteristicSelector) -> Bool { cutOff.contains(name) || unheard[name] != nil }

    /// An iteration has ended in the middle of a message.
    mutating func insert(_ name: CharacteristicSelector) { cutOff.insert(name) }

    /// A chunk was accepted between two iterations. Where messages begin with their lengths, the end isn't found.
    mutating func pass(over chunk: [UInt8], of name: CharacteristicSelector, endingWith mark: EndMark) {
        guard !chunk.isEmpty else { return }
        var message = unheard[name] ?? MessageAssembler(mark, maximumSize: 0)
        message.skip(chunk)
        // The next one may begin in the same chunk.
        while !message.isSkipping, message.unfinishedCount > 0 { message.skip() }
        unheard[name] = message.isSkipping ? message : nil
    }
}
