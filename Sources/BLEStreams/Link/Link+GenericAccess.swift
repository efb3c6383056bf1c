import BLEProtocol
import BLERadio

extension ConnectionParameters {
    /// The connection parameters that a peripheral prefers: the value of characteristic 2A04.
    ///
    /// Source: Core Specification, Vol 3, Part C, 12.3.
    public struct Preferred: Hashable, Sendable {
        /// The shortest connection interval, 7.5 ms to 4 s in steps of 1.25 ms; `nil`: no preference.
        public var minimumInterval: Duration?

        /// The longest connection interval; `nil`: no preference.
        public var maximumInterval: Duration?

        /// How many connection events the peripheral may skip, 0 to 499; `nil`: no preference.
        public var latency: Int?

        /// The time without a packet after which the link is lost, 100 ms to 32 s in steps of 10 ms; `nil`: no
        /// preference.
        public var supervisionTimeout: Duration?

        /// Decodes the characteristic's eight octets; `nil` for any other number.
        package init?(octets: some Collection<UInt8>) {
            guard octets.count == 8 else { return nil }
            var fields: [UInt16?] = []
            var rest = Array(octets)[...]
            while let low = rest.popFirst(), let high = rest.popFirst() {
                let field = UInt16(low) | UInt16(high) << 8
                fields.append(field == 0xFFFF ? nil : field)
            }
            minimumInterval = fields[0].map { .microseconds(1250 * Int64($0)) }
            maximumInterval = fields[1].map { .microseconds(1250 * Int64($0)) }
            latency = fields[2].map(Int.init)
            supervisionTimeout = fields[3].map { .milliseconds(10 * Int64($0)) }
        }
    }
}

/// The values of the Generic Access service; each takes one request, without discovery, unless the peripheral can't
/// find a value by its type.
extension Link {
    /// The peripheral's name, which may be longer than the advertised one.
    ///
    /// - Returns: `nil` if the peripheral has no name, though it must, or the name is not UTF-8.
    /// - Throws: ``BLEError/Code/attributeError``, ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``,
    ///   `CancellationError`.
    public func deviceName(timeout: Duration? = nil) async throws -> String? {
        try await first(BluetoothUUID.Characteristics.deviceName, timeout)?.text
    }

    /// The peripheral's kind of device, as a number assigned by the Bluetooth SIG (Assigned Numbers, 2.6).
    ///
    /// - Returns: `nil` if the peripheral doesn't provide it.
    /// - Throws: as ``deviceName(timeout:)``.
    public func appearance(timeout: Duration? = nil) async throws -> UInt16? {
        guard let value = try await first(BluetoothUUID.Characteristics.appearance, timeout), value.count == 2 else {
            return nil
        }
        return UInt16(value[0]) | UInt16(value[1]) << 8
    }

    /// The connection parameters that the peripheral prefers.
    ///
    /// - Returns: `nil` if the peripheral doesn't provide them.
    /// - Throws: as ``deviceName(timeout:)``.
    public func preferredConnectionParameters(
        timeout: Duration? = nil
    ) async throws -> ConnectionParameters.Preferred? {
        try await first(BluetoothUUID.Characteristics.peripheralPreferredConnectionParameters, timeout)
            .flatMap { ConnectionParameters.Preferred(octets: $0) }
    }

    private func first(_ uuid: BluetoothUUID, _ timeout: Duration?) async throws -> CharacteristicValue? {
        let deadline = timeout.map { timeline.now + $0 }
        do {
            return try await readAll(uuid, limit: 1, timeout).first?.value
        } catch let error as BLEError where error.attError == .unlikely {
            // Some servers have room for 19 octets only of a value that is read by its type. Source: NimBLE,
            // `ble_att_svr.c`.
            let selector = CharacteristicSelector.uuid(uuid, service: BluetoothUUID.genericAccess)
            do {
                return try await octets(of: selector, deadline.map { $0 - timeline.now })
            } catch let missing as BLEError where missing.code == .notFound {
                throw error
            }
        }
    }
}
