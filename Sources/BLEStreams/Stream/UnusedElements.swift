/// The elements that a consumer has been handed and has not used yet: the chunks of a message that is not whole.
///
/// Of very many, the last ones: a source keeps no more for its next consumer.
struct UnusedElements<Element> {
    private static var limit: Int { 1024 }

    private var ring = Ring<Element>()
    /// How many came before them.
    private(set) var dropped = 0
    /// Whether a part of the first one was used.
    private(set) var isCut = false

    var isEmpty: Bool { ring.isEmpty }
    var last: Element? { ring.last }
    var elements: [Element] { ring.elements }

    mutating func append(_ element: Element) {
        if ring.count == Self.limit {
            _ = ring.popFirst()
            dropped += 1
        }
        ring.append(element)
    }

    /// Adds what is left of the first one.
    mutating func append(restOfFirst element: Element) {
        append(element)
        isCut = true
    }
}
