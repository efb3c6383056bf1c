import BLEProtocol
import FoundationEssentials
import Glibc

/// The folder of a ``PeerStore``: names, reads, replaces and sets aside its files.
struct PeerFolder: Sendable {
    let path: String
    /// Called at each access to a file, on the thread that makes it: for tests.
    var onAccess: @Sendable () -> Void = {}

    /// `$XDG_STATE_HOME/blestreams`, or what the XDG Base Directory Specification puts in its place.
    static var standardPath: String {
        if let state = variable("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/blestreams" }
        return (variable("HOME") ?? "/var/lib") + "/.local/state/blestreams"
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    // MARK: - Names

    private static let suffix = ".json"

    /// `C4-F2-17-1A-1D-BB-random.json`: a colon is not welcome in every file system.
    private func file(_ peer: BluetoothAddress) -> String {
        "\(path)/\(peer.description.replacing(":", with: "-"))-\(peer.kind.rawValue)\(Self.suffix)"
    }

    /// The peers that have a file.
    func peers() -> [BluetoothAddress] {
        onAccess()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.compactMap { name in
            guard name.hasSuffix(Self.suffix) else { return nil }
            let parts = name.dropLast(Self.suffix.count).split(separator: "-")
            guard parts.count == 7 else { return nil }
            return BluetoothAddress(parts[..<6].joined(separator: ":") + "/" + parts[6])
        }
    }

    // MARK: - Reading

    /// The record of a peer; `nil` where there is no file.
    ///
    /// - Throws: when it can't be read; one that makes no sense has been set aside by then.
    func read(_ peer: BluetoothAddress) throws(BLEError) -> PeerRecord? {
        onAccess()
        let name = file(peer)
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: name))
        } catch {
            guard access(name, F_OK) == 0 else { return nil }
            throw .store("read", name, cause: "\(String(cString: strerror(errno)))", .permissions)
        }
        guard let file = try? JSONDecoder().decode(PeerFile.self, from: data) else {
            throw .store("read", name, cause: try setAside(name, "it is damaged"))
        }
        guard file.version == PeerFile.currentVersion else {
            throw .store("read", name, cause: try setAside(name, "its version \(file.version) is not known"))
        }
        return file.record
    }

    /// Moves a file out of the way, under a name that is free; answers what was done.
    private func setAside(_ name: String, _ why: String) throws(BLEError) -> String {
        var number = 1
        // A second name is never put in another file's place, as a new one would be.
        while link(name, "\(name).\(number)") != 0 {
            // Another program was quicker.
            if errno == ENOENT { return "\(why); another program has set it aside" }
            guard errno == EEXIST else { throw .store("set aside", name, errno: errno) }
            number += 1
        }
        unlink(name)
        return "\(why); it was set aside as \(name).\(number), and what was in it is found out afresh"
    }

    // MARK: - Writing

    /// Keeps other programs, and other stores, from changing files meanwhile.
    ///
    /// The corresponding C function is `flock`.
    func whileLocked(_ body: () throws(BLEError) -> Void) throws(BLEError) {
        onAccess()
        try make()
        let descriptor = open(path + "/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .store("write", path, errno: errno) }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw .store("lock", path, errno: errno) }
        }
        try body()
    }

    private func make() throws(BLEError) {
        guard access(path, F_OK) != 0 else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw .store("make", path, cause: "the folder could not be made", .permissions)
        }
    }

    /// Replaces the file of a peer, or removes it where there is nothing to remember.
    func write(_ record: PeerRecord, of peer: BluetoothAddress) throws(BLEError) {
        let name = file(peer)
        guard !record.isEmpty else {
            guard unlink(name) == 0 || errno == ENOENT else { throw .store("remove", name, errno: errno) }
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let data: Data
        do {
            data = try encoder.encode(PeerFile(peer: "\(peer)/\(peer.kind.rawValue)", record: record))
        } catch {
            throw .store("write", name, cause: "the record could not be encoded")
        }
        try replace(name, with: data)
    }

    /// Writes beside the file, and puts that in its place once the disk has it. The file is never readable by others.
    private func replace(_ name: String, with data: Data) throws(BLEError) {
        let new = name + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .store("write", name, errno: errno) }
        var failure: Int32 = 0
        data.withUnsafeBytes { octets in
            var position = 0
            while position < octets.count {
                let count = Glibc.write(descriptor, octets.baseAddress.map { $0 + position }, octets.count - position)
                if count > 0 {
                    position += count
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        if failure == 0, fsync(descriptor) != 0 { failure = errno }
        close(descriptor)
        if failure == 0, rename(new, name) != 0 { failure = errno }
        if failure == 0 { return syncFolder() }
        unlink(new)
        throw .store("write", name, errno: failure)
    }

    /// A name that only the memory knows would not outlive a loss of power.
    private func syncFolder() {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

extension BLEError {
    fileprivate enum StoreRemedy { case none, permissions }

    fileprivate static func store(
        _ operation: String,
        _ object: String,
        cause: String,
        _ remedy: StoreRemedy = .none
    ) -> BLEError {
        BLEError(
            .systemFailure,
            operation: operation,
            object: object,
            cause: cause,
            remedy: remedy == .none ? "" : "Check that this user may read and write there, and that the disk has room."
        )
    }

    fileprivate static func store(_ operation: String, _ object: String, errno number: Int32) -> BLEError {
        var error = store(operation, object, cause: String(cString: strerror(number)), .permissions)
        error.systemError = number
        return error
    }
}
