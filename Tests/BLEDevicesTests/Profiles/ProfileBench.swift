import BLEDevices
import BLEStreams
import Testing

/// Octets as hex, spaces allowed: `0C 48 00`.
func octets(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }
    return stride(from: 0, to: digits.count, by: 2).compactMap { place in
        let start = digits.index(digits.startIndex, offsetBy: place)
        return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16)
    }
}

/// The octets mean the value, the value gives the octets, and no part of the octets is a value or a trap.
///
/// - Parameter shortest: how many octets are a value at the least, where a part of them is one.
func expectBothWays<Value: Equatable & Sendable>(
    _ hex: String,
    _ key: TypedCharacteristic<Value>,
    _ value: Value,
    shortest: Int? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let octets = octets(hex)
    func read(_ octets: some Sequence<UInt8>) throws -> Value {
        try key.value(
            of: CharacteristicValue(
                bytes: Array(octets)[...],
                time: ReceptionTime(sinceEpoch: .zero, source: .simulation)
            )
        )
    }
    #expect(try read(octets) == value, sourceLocation: sourceLocation)
    #expect(try key.octets(of: value) == octets, sourceLocation: sourceLocation)
    for count in 0..<(shortest ?? octets.count) {
        #expect(throws: BLEError.self, "\(count) octets", sourceLocation: sourceLocation) {
            try read(octets.prefix(count))
        }
    }
}
