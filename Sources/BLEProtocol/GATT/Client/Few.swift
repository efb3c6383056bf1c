/// A list that mostly has one element or none: the first element takes no allocation.
///
/// For the results of a machine's step, which occur several times for each value.
@usableFromInline
package struct Few<Element> {
    @usableFromInline var head: Element?
    @usableFromInline var others: [Element] = []

    @inlinable
    package init() {}

    @inlinable
    package init(_ elements: some Sequence<Element>) { for element in elements { append(element) } }

    @inlinable
    package mutating func append(_ element: Element) {
        if head == nil { head = element } else { others.append(element) }
    }

    /// Takes the elements out, in order. They are moved: iterating counts references to each of them.
    @inlinable
    package mutating func drain(_ body: (consuming Element) -> Void) {
        guard let first = head.take() else { return }
        if others.isEmpty { return body(first) }
        let rest = others
        others = []
        body(first)
        for element in rest { body(element) }
    }
}

extension Few: RandomAccessCollection {
    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { head == nil ? 0 : 1 + others.count }

    @inlinable
    package subscript(index: Int) -> Element {
        if index == 0, let head { return head }
        return others[index - 1]
    }

    @inlinable package var isEmpty: Bool { head == nil }
}

extension Few: ExpressibleByArrayLiteral {
    @inlinable
    package init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension Few: Equatable where Element: Equatable {}
extension Few: Sendable where Element: Sendable {}
