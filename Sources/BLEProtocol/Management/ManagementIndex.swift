/// Which controller a management packet is about: the number in `hci0`, or none.
package struct ManagementIndex: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// About no controller: the list of controllers, the version.
    package static let none = ManagementIndex(rawValue: 0xFFFF)
}

extension ManagementIndex: CustomStringConvertible {
    package var description: String { self == .none ? "no adapter" : "hci\(rawValue)" }
}
