import Foundation
import Testing

/// The tool decodes what the library can decode: a new typed characteristic has a row in the tool's table.
@Suite struct DecodersTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Commands to a device, which no device sends as a value.
    private static let commands: Set<String> = ["fitnessMachineControlPoint", "heartRateControlPoint"]

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `every typed characteristic of the public surface is decoded`() throws {
        let keys = try Self.text("Tests/DocumentationTests/Surface/BLEDevices.txt").split(separator: "\n")
            .compactMap { $0.firstMatch(of: #/^BLEDevices\.CharacteristicKey\.(\w+): .*TypedCharacteristic</#) }
            .map { String($0.1) }
        #expect(keys.count > 40)
        let decoded = try Self.text("Examples/ble/Decoding/Decoders.swift").matches(of: #/Decoder\(\.(\w+)/#)
            .map { String($0.1) }
        let missing = Set(keys).subtracting(decoded).subtracting(Self.commands)
        #expect(missing.isEmpty, "add a row to Examples/ble/Decoding/Decoders.swift")
    }
}
