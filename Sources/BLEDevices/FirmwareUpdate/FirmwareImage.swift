import BLEProtocol
import CLibrary

/// Firmware for a device: its octets, and what they reveal.
public struct FirmwareImage: Sendable {
    /// All octets; at least one.
    public let bytes: [UInt8]

    /// The SHA-256 of all octets: 32 octets.
    public let sha256: [UInt8]

    /// The version in the header of an image for the boot loader MCUboot; `nil` for other images.
    public let version: String?

    /// The hash by which MCUboot and MCUmgr identify the image; `nil` if it has none. That of a compressed image is
    /// another one once the boot loader has decompressed it.
    public let bootHash: [UInt8]?

    /// The hash by which a device lists the image once it runs.
    let installedHash: [UInt8]?

    /// Whether it is an image for the boot loader MCUboot.
    public var isForMCUboot: Bool { version != nil }

    /// Creates an image from octets.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` if there are none.
    public init(_ bytes: some Collection<UInt8>) throws { try self.init(Array(bytes), named: "image") }

    /// Reads a file.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the `errno` if it can't be read;
    ///   ``BLEError/Code/invalidArgument`` if it is empty, larger than 1 GiB, not a regular file, or shrinks while it
    ///   is read.
    public init(file path: String) throws {
        try self.init(
            Self.read(path) { descriptor, buffer in CLibrary.read(descriptor, buffer.baseAddress, buffer.count) },
            named: path
        )
    }

    init(_ bytes: [UInt8], named name: String) throws {
        guard !bytes.isEmpty else {
            throw BLEError.image(name, "it is empty", "Check that it was built and copied completely.")
        }
        self.bytes = bytes
        sha256 = SHA256.hash(bytes)
        let image = MCUbootImage(bytes)
        version = image?.version
        bootHash = image?.hash
        installedHash = image?.installedHash
    }

    /// Reads a whole file with the given function, which reads a part.
    static func read(_ path: String, _ part: (Int32, UnsafeMutableRawBufferPointer) -> Int) throws -> [UInt8] {
        // Opening something other than a file, such as a pipe, must not block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw BLEError.unreadable(path, errno) }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw BLEError.unreadable(path, errno) }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw BLEError.image(path, "it is not a regular file", "Choose the file that the build produced.")
        }
        guard facts.st_size <= 1 << 30 else {
            throw BLEError.image(
                path,
                "it has \(facts.st_size) octets",
                "No device accepts an image of that size: choose the firmware image itself."
            )
        }
        var octets = [UInt8](repeating: 0, count: Int(facts.st_size))
        var position = 0
        while position < octets.count {
            let count = octets.withUnsafeMutableBytes {
                part(descriptor, UnsafeMutableRawBufferPointer(rebasing: $0[position...]))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw BLEError.unreadable(path, errno) }
            guard count > 0 else {
                throw BLEError.image(
                    path,
                    "it had \(octets.count) octets, but ended after \(position) while being read",
                    "Another program is writing to it: wait until the build has finished."
                )
            }
            position += count
        }
        return octets
    }
}

extension BLEError {
    static func image(_ name: String, _ cause: String, _ remedy: String) -> BLEError {
        BLEError(.invalidArgument, operation: "read firmware", object: name, cause: cause, remedy: remedy)
    }

    fileprivate static func unreadable(_ path: String, _ number: Int32) -> BLEError {
        // What has run out may be there again for the next try.
        let isShortage = [EMFILE, ENFILE, ENOMEM].contains(number)
        var error = BLEError(
            .systemFailure,
            operation: "read firmware",
            object: path,
            cause: String(cString: strerror(number)),
            remedy: isShortage
                ? "Close files that the program doesn't need, or free some memory, then try again."
                : "Check that the path is correct and the file is readable."
        )
        error.systemError = number
        error.isFinal = !isShortage
        return error
    }
}
