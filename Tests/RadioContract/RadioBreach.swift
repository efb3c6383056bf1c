/// What a radio does otherwise than the contract says.
package struct RadioBreach: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// Throws, unless it is as it must be.
    package static func unless(_ isSo: Bool, _ description: @autoclosure () -> String) throws {
        if !isSo { throw RadioBreach(description()) }
    }
}
