import BLEProtocol
import CLibrary
import FoundationEssentials

/// The folder of a ``PeerStore``: names, reads, replaces and sets aside its files.
struct PeerFolder: Sendable {
    let path: String
    /// How long to wait for another program that changes files. A change takes milliseconds, on a slow card a second.
    var patience = Duration.seconds(10)
    /// Of how many peers with neither a bond nor a session the services are kept.
    static let usualStrangers = 1024
    var strangers = usualStrangers
    /// Called before each change with how long it may wait for another program: for tests.
    var onLock: @Sendable (Duration) -> Void = { _ in }
    /// Called at each access to a file, on the thread that makes it: for tests.
    var onAccess: @Sendable () -> Void = {}

    /// Below the folder that a service manager gives to its service, otherwise below the user's own.
    static var standardPath: String {
        standardPath { name in getenv(name).map { String(cString: $0) } }
    }

    /// `$STATE_DIRECTORY/blestreams` (systemd.exec(5), StateDirectory=), otherwise `$XDG_STATE_HOME/blestreams`, or the
    /// default of the XDG Base Directory Specification.
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

    /// `C4-F2-17-1A-1D-BB-random.json`: some file systems don't allow colons.
    private static func name(_ peer: BluetoothAddress) -> String {
        "\(peer.description.replacing(":", with: "-"))-\(peer.kind.rawValue)\(suffix)"
    }

    /// The peer whose file has this name; `nil` if it is no peer's.
    private static func peer(_ name: String) -> BluetoothAddress? {
        guard name.hasSuffix(suffix) else { return nil }
        let parts = name.dropLast(suffix.count).split(separator: "-")
        guard parts.count == 7, let peer = BluetoothAddress(parts[..<6].joined(separator: ":") + "/" + parts[6]),
            self.name(peer) == name
        else { return nil }
        return peer
    }

    /// Whether this is the path of another peer's file; `nil`: of any peer's.
    func isFile(_ path: String, ofOtherThan peer: BluetoothAddress?) -> Bool {
        guard let name = path.split(separator: "/").last, let owner = Self.peer(String(name)) else { return false }
        return owner != peer
    }

    /// The peers that have a file; none if there is no folder.
    func peers() throws(BLEError) -> [BluetoothAddress] {
        onAccess()
        guard let folder = try TrustedFolder.open(path) else { return [] }
        return try folder.names().compactMap(Self.peer)
    }

    /// The same, each with its file's stamp.
    func stamps() throws(BLEError) -> [BluetoothAddress: FileStamp] {
        onAccess()
        guard let folder = try TrustedFolder.open(path) else { return [:] }
        var stamps: [BluetoothAddress: FileStamp] = [:]
        for name in try folder.names() {
            if let peer = Self.peer(name) { stamps[peer] = folder.stamp(of: name) }
        }
        return stamps
    }

    /// Whether there may be files: it is a folder, or it can't be known whether it is.
    var mayHaveFiles: Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    // MARK: - Examining

    /// Why a file can't be read or written there; `nil` if all can. If there is no folder yet, whether it can be made.
    func examine() -> BLEError? {
        onAccess()
        do throws(BLEError) {
            guard let folder = try TrustedFolder.open(path) else {
                try TrustedFolder.examineParent(of: path)
                return nil
            }
            try folder.examineAccess()
            for name in try folder.names() where name.hasSuffix(Self.suffix) { try folder.examineAccess(to: name) }
            try folder.examineLock(within: .seconds(2))
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Reading

    /// The record in a peer's file, and a notice for the program, if any. Its operation is `examine`, so that it
    /// differs from the error of a file that could not be read.
    typealias Reading = (record: PeerRecord, notice: BLEError?)

    /// The record of a peer; empty if there is no file, or if it was damaged and has been set aside.
    ///
    /// - Throws: if the file exists and can't be used: its content must not be lost.
    func read(_ peer: BluetoothAddress) throws(BLEError) -> Reading {
        onAccess()
        guard let folder = try TrustedFolder.open(path) else { return (PeerRecord(), nil) }
        if case .readable(let reading) = try Self.usableState(of: peer, in: folder) { return reading }
        // Another program may be replacing it with a good one, which must not be set aside.
        guard let lock = try folder.lock(within: .zero) else {
            throw .store(
                "read",
                "\(path)/\(Self.name(peer))",
                cause: "it is damaged",
                remedy: "Wait: the library sets it aside as soon as no other program is writing there."
            )
        }
        return try Self.read(peer, in: folder, lock)
    }

    /// The same, for a file that nobody else can change meanwhile.
    private static func read(
        _ peer: BluetoothAddress,
        in folder: borrowing TrustedFolder,
        _ lock: borrowing TrustedFolder.Lock
    ) throws(BLEError) -> Reading {
        if case .readable(let reading) = try usableState(of: peer, in: folder) { return reading }
        let place = try folder.setAside(name(peer))
        let notice = BLEError.store(
            "examine",
            "\(folder.path)/\(name(peer))",
            cause: "it is damaged; it was set aside as \(place), and a new file takes its place",
            remedy: "If there was a bond with \(peer), remove it on that device, and pair again."
        )
        return (PeerRecord(), notice)
    }

    private enum FileState {
        case readable(Reading)
        case damaged
    }

    /// - Throws: also if a later version of the library has written the file, to which it still is of use.
    private static func usableState(
        of peer: BluetoothAddress,
        in folder: borrowing TrustedFolder
    ) throws(BLEError) -> FileState {
        guard let contents = try folder.contents(of: name(peer)) else { return .readable((PeerRecord(), nil)) }
        let file: PeerFile
        do throws(PeerFile.Fault) {
            file = try PeerFile(contents.octets, of: peer)
        } catch {
            guard case .unknownVersion(let version) = error else { return .damaged }
            throw .store(
                "read",
                "\(folder.path)/\(name(peer))",
                cause: "its version \(version) is not known to this version of the library",
                remedy: "Use the version that has written it, or move the file away and pair with \(peer) again."
            )
        }
        guard contents.wasReadable else { return .readable((file.record, nil)) }
        let notice = BLEError.store(
            "examine",
            "\(folder.path)/\(name(peer))",
            cause: "other users could read it until now",
            remedy: "If one of them may have read the keys in it, unpair from \(peer), and pair again."
        )
        return .readable((file.record, notice))
    }

    // MARK: - Writing

    /// What a change has made of a peer's file.
    enum Outcome {
        /// It is as it was, or still not there: nothing was written.
        case unchanged
        /// It was written or removed.
        case written
        /// It was written, was not there before, and is a stranger's.
        case newStranger
    }

    /// Changes a peer's record while nobody else changes files.
    ///
    /// - Parameters:
    ///   - isPatient: whether to wait for another program that changes files.
    ///   - notice: gets a notice about the former file, if any, also if an error is thrown.
    /// - Returns: what has become of the file.
    func change(
        _ peer: BluetoothAddress,
        isPatient: Bool,
        _ notice: inout BLEError?,
        _ change: (inout PeerRecord) -> Void
    ) throws(BLEError) -> Outcome {
        onAccess()
        let folder = try TrustedFolder.make(path)
        let limit = isPatient ? patience : .zero
        onLock(limit)
        guard let lock = try folder.lock(within: limit) else { throw folder.held(for: patience) }
        let former = try Self.read(peer, in: folder, lock)
        notice = former.notice
        var record = former.record
        record.apply(change)
        // Repeated requests, such as keeping a session at each link, must not wear out the disk.
        guard record != former.record else { return .unchanged }
        let name = Self.name(peer)
        if record.isEmpty {
            try folder.remove(name)
        } else {
            guard let octets = PeerFile(record, of: peer).octets else {
                throw .store("write", "\(path)/\(name)", cause: "the record could not be encoded")
            }
            try folder.replace(name, with: octets)
        }
        return former.record.isEmpty && record.isStrangers ? .newStranger : .written
    }
}
