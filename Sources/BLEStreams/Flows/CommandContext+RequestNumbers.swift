import Synchronization

extension CommandContext {
    /// A number for a request whose answer repeats it.
    ///
    /// All commands on a link count on: the device may answer late what an earlier one has asked, and that answer must
    /// not be taken for one to a later command.
    package func nextRequestNumber() throws -> UInt8 {
        try link.bearer.requestNumber.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
