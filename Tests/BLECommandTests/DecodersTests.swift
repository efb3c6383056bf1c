import BLEStreams
import Foundation
import Testing

@testable import ble

/// The tool decodes what the library can decode: a new typed characteristic has a row in the tool's table.
@Suite struct DecodersTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Commands to a device, which no device sends as a value.
    private static let commands: Set<String> = ["heartRateControlPoint"]

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

    /// What is shown of octets in hexadecimal.
    private static func shown(_ hex: String, _ uuid: UInt16) throws -> (text: String, json: String) {
        let octets = try #require([UInt8](hex: hex))
        let decoded = try #require(Decoders.decode(octets, of: BluetoothUUID(uuid)))
        return (decoded.text, "\(decoded.json)")
    }

    @Test(
        arguments: [
            (0x2A66, "2005015901", "response (to 5, outcome success, answer (crank length 172.5))"),
            (0x2A66, "200603", "response (to 6, outcome invalid parameter)"),
            (0x2A55, "100401040c", "response (to 4, outcome success, locations frontWheel rearWheel)"),
            (0x2A52, "06000106", "response (to 1, outcome no records found)"), (0x2A52, "0500c800", "count 200"),
            (0x2AD9, "800501", "response (to 5, outcome success)"), (0x2ADA, "08b400", "changed (set power 180)"),
            (0x2A64, "0a5a004000f0ff", "first angle 90, magnitudes (torques 2 -0.5), direction unknown"),
            (0x2A9E, "01000000", "supported timestamp, mass not specified, height not specified"),
            (0x2A1C, "00feff7f00", "temperature above the range, unit celsius"),
            (0x2A1C, "0002008000", "temperature below the range, unit celsius"),
            (0x2A1C, "00ffff7f00", "temperature unknown, unit celsius"),
            (0x2A21, "3c00", "60 s"), (0x2A14, "02080203", "source satellites, accuracy (within 1 s), days 2, hours 3"),
        ] as [(UInt16, String, String)]
    ) func `a case with values is a field with its name`(
        uuid: UInt16,
        hex: String,
        text: String
    ) throws {
        #expect(try Self.shown(hex, uuid).text == text)
    }

    @Test(
        arguments: [
            (0x2A65, "0c020000", "0c020000  wheel, crank, compensation"), (0x2A5C, "0300", "0300  wheel, crank"),
            (0x2A65, "00000000", "00000000  none"), (0x2A5C, "0000", "0000  none"),
            (0x2A29, "41636d650000", "41636d650000"),
            (0x2A29, "41636d65", "41636d65  \"Acme\""), (0x2A29, "", "(empty)"), (0x2A38, "01", "01  chest"),
        ] as [(UInt16, String, String)]
    ) func `words stand behind the octets, and a text once`(
        uuid: UInt16,
        hex: String,
        text: String
    ) throws {
        let octets = try #require([UInt8](hex: hex))
        #expect(octets.readableText(of: BluetoothUUID(uuid)) == text)
    }

    @Test func `a temperature that is unknown has no point in a plot, and leaves the scale as it is`() throws {
        let options = try Arguments(parsing: [], options: ValueStyle.options)
        let style = try ValueStyle(options, of: CharacteristicName("2A6E"))
        let plot = Plot()
        let time = ReceptionTime(sinceEpoch: .seconds(1), source: .reading)
        let octets: [[UInt8]] = [[0x34, 0x08], [0x00, 0x80], [0x34, 0x08]]
        let lines = octets.map { octets in
            plot.line(CharacteristicValue(bytes: octets[...], time: time), style, named: "", for: 80)
        }
        #expect(lines[0].hasSuffix("●") && lines[2].hasSuffix("●") && !lines[2].contains("\n"))
        #expect(lines[1].hasSuffix("0080  unknown"))
    }

    @Test func `programs get the values of a case by names`() throws {
        let answer = #"{"response":{"to":5,"outcome":"success","answer":{"crankLength":172.5}}}"#
        #expect(try Self.shown("2005015901", 0x2A66).json == answer)
        #expect(try Self.shown("300102", 0x2A66).json == #"{"other":{"number":48,"octets":[1,2]}}"#)
    }

    @Test func `programs get whole seconds as a whole number`() throws {
        let shown = try (0...UInt16.max).filter { seconds in
            let hex = UInt16(bigEndian: seconds.littleEndian)
            return try Self.shown("\(BluetoothUUID(hex))", 0x2A21).json != "\(seconds)"
        }
        #expect(shown.isEmpty)
    }
}
