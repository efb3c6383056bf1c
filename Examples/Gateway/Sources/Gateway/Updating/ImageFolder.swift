import BLEDevices
import Foundation

/// The images that a gateway has: files `HASH.bin` in one folder, named by the SHA-256 of their octets.
struct ImageFolder: Sendable {
    /// An image that can't be used, and why.
    struct ImageError: Error, CustomStringConvertible {
        var description: String
    }

    let folder: String

    /// Reads an image.
    ///
    /// - Parameter hash: 64 hexadecimal digits, and nothing else.
    func image(_ hash: String) throws -> (image: FirmwareImage, bootHash: [UInt8]) {
        let path = "\(folder)/\(hash).bin"
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw ImageError(description: "campaigns: \(path) can't be read. Copy the image there.")
        }
        let image = try FirmwareImage(file: path)
        guard image.sha256.hex == hash else {
            throw ImageError(description: "campaigns: \(path) has another SHA-256. Copy the image again.")
        }
        guard let bootHash = image.bootHash else {
            throw ImageError(description: "campaigns: \(path) is no image for MCUboot. Use zephyr.signed.bin.")
        }
        return (image, bootHash)
    }
}
