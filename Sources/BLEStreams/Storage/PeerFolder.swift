import BLEProtocol
import CLibrary
import FoundationEssentials

/// The folder of a ``PeerStore``: names, reads, replaces and sets aside its files.
struct PeerFolder: Sendable {
    let path: String
    /// Called at each access to a file, on the thread that makes it: for tests.
    var onAccess: @Sendable () -> Void = {}

    /// What lies below the folder that a service manager gives to its service, else below the user's own.
    static var standardPath: String {
        standardPath { name in getenv(name).map { String(cString: $0) } }
    }

    /// `$STATE_DIRECTORY/blestreams` (systemd.exec(5), StateDirectory=), else `$XDG_STATE_HOME/blestreams`, or what the
    /// XDG Base Directory Specification puts in its place.
    static func standardPath(in environment: (String) -> String?) -> String {
        // A service may have several, separated by colons; the first one is its main one.
        let given = environment("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init)
        for state in [given, environment("XDG_STATE_HOME")] {
            if let state, state.hasPrefix("/") { return state + "/blestreams" }
        }
        let home = environment("HOME").flatMap { $0.isEmpty ? nil : $0 }
        return (home ?? "/var/lib") + "/.local/state/blestreams"
    }

    // MARK: - Names

    private static let suffix = ".json"

    /// `C4-F2-17-1A-1D-BB-random.json`: a colon is not welcome in every file system.
    private func file(_ peer: BluetoothAddress) -> String {
        "\(path)/\(peer.description.replacing(":", with: "-"))-\(peer.kind.rawValue)\(Self.suffix)"
    }

    /// The peers that have a file; none where there is no folder.
    func peers() throws(BLEError) -> [BluetoothAddress] {
        onAccess()
        guard try isTrusted() else { return [] }
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
        guard try isTrusted() else { return nil }
        guard let data = try contents(of: name) else { return nil }
        guard let file = try? JSONDecoder().decode(PeerFile.self, from: data) else {
            throw .store("read", name, cause: try setAside(name, "it is damaged"))
        }
        guard file.version == PeerFile.currentVersion else {
            throw .store("read", name, cause: try setAside(name, "its version \(file.version) is not known"))
        }
        return file.record
    }

    /// The octets of a file; `nil` where there is none. A link is no file: it could lead to somebody else's.
    private func contents(of name: String) throws(BLEError) -> Data? {
        let descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .store("read", name, errno: errno)
        }
        defer { close(descriptor) }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count > 0 {
                data.append(contentsOf: buffer[..<count])
            } else if count == 0 {
                return data
            } else if errno != EINTR {
                throw .store("read", name, errno: errno)
            }
        }
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

    // MARK: - Trust

    /// Whether the folder is there. What lies in it decides which keys are loaded: nobody else may be able to change it.
    ///
    /// - Throws: where another user owns it, or may write into it.
    private func isTrusted() throws(BLEError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw .store("open", path, errno: errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .store("open", path, cause: "it is no folder", remedy: "Move that file away, or name another folder.")
        }
        guard status.st_uid == geteuid() else {
            throw .store(
                "open",
                path,
                cause: "it belongs to user \(status.st_uid), and this program runs as user \(geteuid())",
                remedy: "Run `chown -R \(geteuid()) '\(path)'`, or name a folder of this user's."
            )
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .store(
                "open",
                path,
                cause: "other users may write into it",
                remedy: "Run `chmod 700 '\(path)'` once you have checked that the files in it are yours."
            )
        }
        return true
    }

    // MARK: - Writing

    /// Keeps other programs, and other stores, from changing files meanwhile.
    ///
    /// The corresponding C function is `flock`.
    func whileLocked(_ body: () throws(BLEError) -> Void) throws(BLEError) {
        onAccess()
        try make()
        // Where somebody has put a link in its place, following it would make a file of this user's elsewhere.
        let descriptor = open(path + "/.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .store("lock", path + "/.lock", errno: errno) }
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw .store("lock", path, errno: errno) }
        }
        try body()
    }

    private func make() throws(BLEError) {
        guard try !isTrusted() else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw .store(
                "make",
                path,
                cause: "the folder could not be made",
                remedy: "Check that this user may write above it, or name another folder."
            )
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
                let rest = octets.baseAddress.map { $0 + position }
                let count = CLibrary.write(descriptor, rest, octets.count - position)
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
    fileprivate static func store(
        _ operation: String,
        _ object: String,
        cause: String,
        remedy: String = ""
    ) -> BLEError {
        BLEError(.systemFailure, operation: operation, object: object, cause: cause, remedy: remedy)
    }

    fileprivate static func store(_ operation: String, _ object: String, errno number: Int32) -> BLEError {
        let remedy =
            number == ELOOP
            ? "Remove that symbolic link: the store follows none, since it could lead to somebody else's file."
            : "Check that this user may read and write there, and that the disk has room."
        let cause = number == ELOOP ? "it is a symbolic link" : String(cString: strerror(number))
        var error = store(operation, object, cause: cause, remedy: remedy)
        error.systemError = number
        return error
    }
}
