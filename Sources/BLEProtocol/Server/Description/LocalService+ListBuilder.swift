extension LocalService {
    /// Collects services, characteristics or descriptors that are written one below the other; `if` and `for` work too.
    @resultBuilder
    public enum ListBuilder<Element> {
        /// One of them.
        public static func buildExpression(_ element: Element) -> [Element] { [element] }
        /// Several that were made elsewhere.
        public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
        /// All of a block.
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
}
