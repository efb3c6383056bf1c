/// A list that mostly has one element or none: the first one takes no memory of its own.
///
/// For what a step of a machine leads to, several times for each value.
struct Few<Element> {
    private var head: Element?
    private var others: [Element] = []

    init() {}

    init(_ elements: some Sequence<Element>) { for element in elements { append(element) } }

    mutating func append(_ element: Element) {
        if head == nil { head = element } else { others.append(element) }
    }
}

extension Few: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { head == nil ? 0 : 1 + others.count }

    subscript(index: Int) -> Element {
        if index == 0, let head { return head }
        return others[index - 1]
    }

    var isEmpty: Bool { head == nil }
    var first: Element? { head }
}

extension Few: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension Few: Equatable where Element: Equatable {}
extension Few: Sendable where Element: Sendable {}
