public import BLEProtocol

/// A value and when it was received; see ``TypedCharacteristic/timed``.
public struct Timed<Value: Sendable>: Sendable {
    /// The value.
    public var value: Value

    /// When it was received.
    public var time: ReceptionTime

    /// Makes a value with its time.
    package init(_ value: Value, at time: ReceptionTime) {
        self.value = value
        self.time = time
    }
}

extension Timed: Equatable where Value: Equatable {}
extension Timed: Hashable where Value: Hashable {}

extension TypedCharacteristic {
    /// The same characteristic, with values that keep the time at which they were received.
    ///
    /// ```swift
    /// let temperature = TypedCharacteristic(BluetoothUUID.Characteristics.temperature) {
    ///     reader throws(MalformedValue) in
    ///     Double(try reader.int16()) / 100
    /// }
    /// for try await sample in link.notifications(of: temperature.timed) {
    ///     print(sample.time.isoText, sample.value)
    /// }
    /// ```
    public var timed: TypedCharacteristic<Timed<Value>> {
        let decode = decode
        var timedEncode: (@Sendable (Timed<Value>, inout ValueWriter) throws(MalformedValue) -> Void)?
        if let encode {
            timedEncode = { timed, writer throws(MalformedValue) in try encode(timed.value, &writer) }
        }
        return TypedCharacteristic<Timed<Value>>(
            uuid,
            in: service,
            decode: { reader throws(MalformedValue) in Timed(try decode(&reader), at: reader.time) },
            encode: timedEncode
        )
        .at(reference)
    }
}
