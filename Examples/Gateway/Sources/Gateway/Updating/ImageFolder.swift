import BLEDevices
import BLEStreams
import Glibc

/// The images that a gateway has: files `HASH.bin` in one folder, named by the SHA-256 of their octets.
struct ImageFolder: Sendable {
    /// An image that can't be used, and why.
    struct ImageError: Error, CustomStringConvertible {
        var cause: String
        var remedy: String
        var description: String { "\(cause). \(remedy)" }
    }

    let folder: String

    /// Reads an image. Whatever goes wrong, such as the disk, is an error of the image, since no device has caused it.
    ///
    /// - Parameter hash: 64 hexadecimal digits, and nothing else.
    func image(_ hash: String) throws -> FirmwareImage {
        let path = "\(folder)/\(hash).bin"
        guard access(path, R_OK) == 0 else {
            let number = errno
            throw ImageError(
                cause: "\(path) can't be read: \(String(cString: strerror(number)))",
                remedy: number == ENOENT
                    ? "Copy the image there."
                    : "Check the disk, and that this program may read the folder and its files."
            )
        }
        let image: FirmwareImage
        do {
            image = try FirmwareImage(file: path)
        } catch let error as BLEError {
            let ofSystem = "Check the disk, and how many files this program may open."
            throw ImageError(
                cause: "\(path) can't be read: \(error.cause)",
                remedy: error.systemError == nil ? error.remedy : ofSystem
            )
        }
        guard image.sha256.hex == hash else {
            throw ImageError(cause: "\(path) has another SHA-256", remedy: "Copy the image again.")
        }
        return image
    }

    /// Keeps an image for MCUboot that has come from somewhere else.
    ///
    /// - Parameter hash: the SHA-256 that it must have: 64 hexadecimal digits, and nothing else.
    func keep(_ octets: [UInt8], as hash: String) throws {
        let image = try FirmwareImage(octets)
        guard image.sha256.hex == hash else {
            throw ImageError(cause: "the image has another SHA-256 than \(hash)", remedy: "Publish it again.")
        }
        guard image.bootHash != nil else {
            throw ImageError(cause: "\(hash) is not an image for MCUboot", remedy: "Publish zephyr.signed.bin.")
        }
        try DurableFile.write(octets, to: "\(folder)/\(hash).bin")
    }

    /// Reads an image for MCUboot.
    func bootImage(_ hash: String) throws -> FirmwareImage {
        let image = try image(hash)
        guard image.bootHash != nil else {
            throw ImageError(
                cause: "\(folder)/\(hash).bin is not an image for MCUboot",
                remedy: "Use zephyr.signed.bin."
            )
        }
        return image
    }
}
