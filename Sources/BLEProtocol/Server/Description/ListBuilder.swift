/// Collects the elements of a builder block: services, characteristics, descriptors or commands; `if` and `for` work
/// too.
@resultBuilder
public enum ListBuilder<Element> {
    /// A single element.
    public static func buildExpression(_ element: Element) -> [Element] { [element] }
    /// Several elements that were made elsewhere.
    public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    /// All elements of a block.
    public static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    /// An `if` without `else`.
    public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    /// The first branch of a choice.
    public static func buildEither(first part: [Element]) -> [Element] { part }
    /// The second branch of a choice.
    public static func buildEither(second part: [Element]) -> [Element] { part }
    /// A loop.
    public static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
}
