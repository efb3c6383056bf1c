/// What a command can ask for.
enum CommandOperation: String, CaseIterable, Sendable {
    /// Reads a characteristic; the reply has the value.
    case read
    /// Writes a characteristic, and waits for the peripheral's answer.
    case write
    /// Writes a characteristic without an answer of the peripheral.
    case writeWithoutResponse
    /// Connects now instead of at the time of the next attempt; the reply comes when the peripheral is ready.
    case connect
    /// Brings a firmware image to the peripheral; the reply comes when it runs it.
    case update
}
