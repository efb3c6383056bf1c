/// A configuration that can't be used: the field, the cause and the remedy.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The field: `broker.port`; empty for the file as a whole.
    public var field: String
    /// What is wrong with it.
    public var cause: String
    /// What to do about it.
    public var remedy: String

    public var description: String { "configuration: \(field.isEmpty ? "the file" : field): \(cause). \(remedy)" }
}
