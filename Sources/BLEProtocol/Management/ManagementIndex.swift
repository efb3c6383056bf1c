/// The controller that a management packet concerns: the number in `hci0`, or none.
package struct ManagementIndex: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// No controller: for what concerns none of them, such as the version.
    package static let none = ManagementIndex(rawValue: 0xFFFF)
}

extension ManagementIndex: CustomStringConvertible {
    package var description: String { self == .none ? "no adapter" : "hci\(rawValue)" }
}
