extension ATTCapture {
    /// The size of an advertisement of Bluetooth 4.
    private static let legacyLimit = 31
    /// The room for data in one event.
    private static let eventLimit = 229
    /// 127 means that a strength or power is unknown.
    private static let unknownStrength: Int8 = 127

    /// An advertisement was received: the event that reports it, or several events if it is long.
    ///
    /// An advertisement that is longer than one of Bluetooth 4, for example merged with its scan response, is written
    /// as an extended one. Source: Core Specification, Vol 4, Part E, 7.7.65.2 and 7.7.65.13.
    ///
    /// - Parameters:
    ///   - address: The advertiser's address.
    ///   - isConnectable: Whether connections are accepted.
    ///   - rssi: The signal strength in dBm, if it is known.
    ///   - data: The AD structures.
    package func advertised(
        by address: BluetoothAddress,
        isConnectable: Bool,
        rssi: Int8?,
        data: some Collection<UInt8>,
        time: ReceptionTime
    ) -> [UInt8] {
        let data = Array(data)
        let strength = UInt8(bitPattern: rssi ?? Self.unknownStrength)
        let origin: [UInt8] = [address.kind == .public ? 0 : 1] + address.littleEndianOctets
        guard data.count > Self.legacyLimit else {
            // One report: connectable and scannable undirected, or non-connectable undirected.
            let report: [UInt8] =
                [0x01, isConnectable ? 0x00 : 0x03] + origin + [UInt8(data.count)] + data + [strength]
            return event(0x02, report, time)
        }
        return Self.parts(of: data).flatMap { part in
            // Bit 0: connectable; bit 5: more of the data follows.
            let kind: UInt8 = (isConnectable ? 0x01 : 0x00) | (part.endIndex < data.count ? 0x20 : 0x00)
            var report: [UInt8] = [0x01, kind, 0x00] + origin
            // LE 1M on both channels, no set number, unknown transmit power.
            report += [0x01, 0x01, 0xFF, UInt8(bitPattern: Self.unknownStrength), strength]
            // No periodic advertising, no target address.
            report += [0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(part.count)]
            return event(0x0D, report + part, time)
        }
    }

    /// The data in parts that each fit into an event. They are cut between structures if possible: Wireshark reads each
    /// part by itself, and reports half a structure as malformed.
    ///
    /// Source: Core Specification, Vol 3, Part C, 11 (length, type, data).
    private static func parts(of data: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var (start, end) = (0, 0)
        while end < data.count {
            let next = min(end + 1 + Int(data[end]), data.count)
            if next - start <= eventLimit {
                end = next
            } else {
                // A structure that is longer than a part is cut in the middle.
                if end == start { end = start + eventLimit }
                parts.append(data[start..<end])
                start = end
            }
        }
        return start < end ? parts + [data[start..<end]] : parts
    }

    /// An LE Meta event.
    private func event(_ subevent: UInt8, _ parameters: [UInt8], _ time: ReceptionTime) -> [UInt8] {
        record(.event, [0x3E, UInt8(parameters.count + 1), subevent] + parameters, time).encoded
    }
}
