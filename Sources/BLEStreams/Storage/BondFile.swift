import BLEProtocol
public import BLERadio
import CLibrary
import FoundationEssentials

/// Bonds with their keys, for the transfer from one machine to another.
struct BondFile: ChecksummedFile {
    struct Entry: Codable {
        var peer: String
        var bond: BondRecord
    }

    /// The only version.
    static let currentVersion = 1

    var version = Self.currentVersion
    var bonds: [Entry]
    /// The CRC-32 of the file without it, as this library writes it: a key that changed in transfer is useless.
    var checksum: UInt32?

    init(_ bonds: [Bond]) {
        self.bonds = bonds.map { Entry(peer: $0.peer.descriptionWithKind, bond: BondRecord($0)) }
    }

    /// Reads what ``octets`` has written, completely; `nil` for anything else.
    init?(_ octets: Data) {
        guard let file = try? JSONDecoder().decode(Self.self, from: octets), file.version == Self.currentVersion,
            let checksum = file.checksum, checksum == file.computedChecksum
        else { return nil }
        self = file
    }

    /// The bonds; `nil` if an address or a key is invalid.
    var content: [Bond]? {
        var all: [Bond] = []
        for entry in bonds {
            guard let peer = BluetoothAddress(entry.peer), let bond = entry.bond.bond(with: peer) else { return nil }
            all.append(bond)
        }
        return all
    }
}

extension Bond {
    /// Writes bonds with their keys into a new file that only this user can read.
    ///
    /// ```swift
    /// try Bond.export(central.bonds, to: "/root/bonds.json")
    /// ```
    ///
    /// Anyone who has the file can impersonate this machine and decrypt its traffic with the peers: transfer it over a
    /// secure channel, and delete it afterwards. The keys belong to one adapter, ``adapter``: they are useful only for
    /// an adapter with its address. Writes a file, so don't call it on ``Central/executor``.
    ///
    /// - Parameters:
    ///   - bonds: the bonds to export.
    ///   - path: the file; its folder must exist.
    /// - Throws: ``BLEError/Code/systemFailure`` with the `errno`, `EEXIST` if the path exists: it overwrites nothing
    ///   and writes to no terminal.
    public static func export(_ bonds: [Bond], to path: String) throws {
        guard let octets = BondFile(bonds).octets else {
            throw BLEError.store("export to", path, cause: "the bonds could not be encoded")
        }
        try SecretFile.make(path, octets)
    }

    /// Reads the bonds from a file that ``export(_:to:)`` has written; ``Central/adopt(_:replacing:)`` stores them.
    ///
    /// Reads a file, so don't call it on ``Central/executor``.
    ///
    /// - Throws: ``BLEError/Code/systemFailure``, also if another user could have written the file;
    ///   ``BLEError/Code/malformedValue`` if it has other content.
    public static func imported(from path: String) throws -> [Bond] {
        let octets = try SecretFile.read(path)
        guard let bonds = BondFile(octets)?.content
        else {
            throw BLEError.noBondFile(path, remedy: "Pass a complete file that Bond.export(_:to:) has written.")
        }
        return bonds
    }
}

extension BLEError {
    static func noBondFile(
        _ path: String,
        cause: String = "it contains no readable bonds",
        remedy: String
    ) -> BLEError {
        BLEError(.malformedValue, operation: "import from", object: path, cause: cause, remedy: remedy)
    }
}

/// Files with keys at a path that a person chooses.
enum SecretFile {
    /// Far more than any file of bonds has.
    private static let most = 4 << 20

    /// Writes a new file; nothing is overwritten.
    static func make(_ path: String, _ octets: Data) throws(BLEError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            let number = errno
            guard number == EEXIST else { throw .store("export to", path, errno: number) }
            let remedy = "Pass the path of a file that doesn't exist yet."
            var error = store("export to", path, cause: "a file with that name exists already", remedy: remedy)
            error.systemError = number
            throw error
        }
        var failure = TrustedFolder.write(octets, to: file)
        if failure == 0, fsync(file) != 0, errno != EINVAL { failure = errno }
        if close(file) != 0, failure == 0 { failure = errno }
        guard failure != 0 else { return }
        unlink(path)
        throw .store("export to", path, errno: failure)
    }

    private static func store(_ operation: String, _ path: String, cause: String, remedy: String) -> BLEError {
        BLEError.store(operation, path, cause: cause, remedy: remedy)
    }

    /// Reads a file that only this user and root can have written.
    static func read(_ path: String) throws(BLEError) -> Data {
        // Opening something other than a file, such as a pipe, must not block.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw .store("import from", path, errno: errno) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .store("import from", path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw noFile(path, status.st_mode & S_IFMT == S_IFDIR) }
        guard status.st_size <= most else { throw tooLong(path) }
        let isOwn = status.st_uid == geteuid() || status.st_uid == 0
        guard isOwn, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .store(
                "import from",
                path,
                cause: "other users may write to it",
                remedy:
                    "Check its content, then make it yours: `chown \(geteuid()) '\(path)'; chmod 600 '\(path)'`."
            )
        }
        var octets = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while octets.count <= most {
            let count = CLibrary.read(file, &buffer, buffer.count)
            if count > 0 {
                octets.append(contentsOf: buffer[..<count])
            } else if count == 0 {
                return octets
            } else if errno != EINTR {
                throw .store("import from", path, errno: errno)
            }
        }
        throw tooLong(path)
    }

    private static func noFile(_ path: String, _ isFolder: Bool) -> BLEError {
        .noBondFile(
            path,
            cause: isFolder ? "it is a folder" : "it is not a regular file",
            remedy: isFolder
                ? "Pass a file of bonds, or read a folder of bluetoothd with Bond.importedFromBluetoothd(in:)."
                : "Pass a file of bonds."
        )
    }

    private static func tooLong(_ path: String) -> BLEError {
        .noBondFile(path, cause: "it has more than \(most) octets", remedy: "Pass a file of bonds.")
    }
}
