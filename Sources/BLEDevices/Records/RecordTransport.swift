public import BLEStreams

/// One record stored on a device.
public struct DeviceRecord: Hashable, Sendable {
    /// Its number; later records have greater numbers.
    public var number: Int
    /// Its content, as the device sent it.
    public var bytes: [UInt8]

    /// Creates a record from its parts.
    public init(number: Int, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
    }
}

/// How a device transfers its records.
public protocol RecordTransport: Sendable {
    /// Requests the records after a number, and passes each to the closure, in the order of arrival.
    ///
    /// - Parameters:
    ///   - last: the number of the last record not wanted any more; `nil`: all records are wanted.
    ///   - take: takes one record; if it throws, the transport ends.
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost: the flow then asks again on the next link.
    func fetch(after last: Int?, in context: CommandContext, _ take: (DeviceRecord) async throws -> Void) async throws

    /// Tells the device that all records up to this number are stored.
    func acknowledge(upTo last: Int, in context: CommandContext) async throws

    /// Asks for the latest record of a device that has reported none after this one.
    ///
    /// A device that has begun its numbers anew has only lower ones. The default returns `nil`, so that a device with
    /// this transport seems to have no new records until its numbers have passed this one again.
    ///
    /// - Parameter last: the number of the last record stored.
    /// - Returns: the number of its latest record; `nil` if the device has no record, or can't tell.
    /// - Throws: ``BLEError/Code/disconnected`` when the link is lost: the flow then asks again on the next link.
    func latest(upTo last: Int, in context: CommandContext) async throws -> Int?
}

extension RecordTransport {
    /// Returns `nil`: the device can't tell.
    public func latest(upTo last: Int, in context: CommandContext) async throws -> Int? { nil }
}
