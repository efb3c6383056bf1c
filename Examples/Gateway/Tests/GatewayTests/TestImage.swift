import BLEDevices
import Foundation

@testable import Gateway

/// Images for MCUboot, whose hash is their number.
enum TestImage {
    static func octets(_ number: UInt8, size: Int) -> [UInt8] {
        func octets(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(number)) }
        let header = octets(0x96F3_B83D) + octets(0) + [32, 0, 0, 0] + octets(UInt32(size)) + octets(0)
        let trailer = [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + [UInt8](repeating: number, count: 32)
        return header + [1, number, 0, 0] + octets(0) + octets(0) + body + trailer
    }

    /// Puts an image into a folder, as a gateway has it there.
    ///
    /// - Returns: its SHA-256.
    static func place(_ image: [UInt8], in folder: String) throws -> String {
        let hash = try FirmwareImage(image).sha256.hex
        try Data(image).write(to: URL(fileURLWithPath: "\(folder)/\(hash).bin"))
        return hash
    }
}
