public import BLEProtocol
@preconcurrency import Dispatch
import Glibc
import Synchronization

/// What is remembered of peers when a program ends: bonds, GATT caches, sessions; one JSON file for each peer.
///
/// The files lie in `$XDG_STATE_HOME/blestreams` (or `~/.local/state/blestreams`) unless told otherwise, with the mode
/// 0600 in a folder of mode 0700. A file is replaced as a whole, so that a loss of power leaves the old or the new one.
/// One that can't be read is set aside beside it, named in a warning, and what was in it is found out afresh.
///
/// Several programs may share a folder: each change is made to the file as it is at that moment.
public final class PeerStore: Sendable {
    /// Receives what went wrong with a file, or beside all calls of the program, which goes on without it.
    public typealias Warning = @Sendable (BLEError) -> Void

    typealias Change = @Sendable (inout PeerRecord) -> Void

    private struct State {
        /// Records that are ahead of their files, and the changes that the files still lack.
        var pending: [BluetoothAddress: (record: PeerRecord, changes: [Change])] = [:]
        /// The records of a store without a folder.
        var memory: [BluetoothAddress: PeerRecord] = [:]
    }

    /// `nil`: everything is kept in memory only.
    private let folder: PeerFolder?
    private let warning: Warning
    private let state = Mutex(State())
    /// Where files are written: nobody waits for a slow disk.
    private let queue = DispatchQueue(label: "BLEStreams.store")

    private init(folder: PeerFolder?, warning: @escaping Warning) {
        self.folder = folder
        self.warning = warning
    }

    /// The files of this user: `$XDG_STATE_HOME/blestreams`; warnings go to standard error.
    public static let standard = PeerStore(folder: PeerFolder.standardPath)

    /// Keeps files in a folder, which is made when the first one is written.
    ///
    /// - Parameters:
    ///   - folder: its path.
    ///   - warning: is told of files that could not be read or written, on any thread; standard error unless given.
    public convenience init(folder: String, warning: @escaping Warning = PeerStore.printWarning) {
        self.init(folder: PeerFolder(path: folder), warning: warning)
    }

    /// A store that forgets everything when it goes: for tests, and for programs that must leave no trace.
    public static func inMemory() -> PeerStore { PeerStore(folder: nil, warning: { _ in }) }

    /// Prints a warning to standard error, as one line.
    public static let printWarning: Warning = { error in
        var line = Array("blestreams: \(error)\n".utf8)
        // One call, so that lines of several threads don't mix.
        _ = Glibc.write(STDERR_FILENO, &line, line.count)
    }

    /// Tells the program something that goes wrong beside its calls; from any thread, and never on that thread.
    func warn(_ error: BLEError) {
        queue.async { [warning] in warning(error) }
    }

    // MARK: - Records

    /// What is remembered of a peer; empty where nothing is.
    func record(of peer: BluetoothAddress) -> PeerRecord {
        let known: PeerRecord? = state.withLock { state in
            folder == nil ? state.memory[peer] ?? PeerRecord() : state.pending[peer]?.record
        }
        if let known { return known }
        let (record, failure) = read(peer)
        if let failure { warning(failure) }
        return record
    }

    /// Every peer of which something is remembered, in the order of their addresses.
    func peers() -> [BluetoothAddress] {
        let (changed, remembered) = state.withLock { ($0.pending.mapValues(\.record), Array($0.memory.keys)) }
        guard let folder else { return remembered.sorted { $0.rawValue < $1.rawValue } }
        var peers = Set(folder.peers())
        for (peer, record) in changed {
            if record.isEmpty { peers.remove(peer) } else { peers.insert(peer) }
        }
        return peers.sorted { $0.rawValue < $1.rawValue }
    }

    /// Changes what is remembered of a peer: for this program at once, on the disk soon.
    ///
    /// - Parameter change: is called twice where there is a file: it may depend on nothing but the record.
    func update(_ peer: BluetoothAddress, _ change: @escaping Change) {
        guard folder != nil else {
            return state.withLock { state in
                var record = state.memory[peer] ?? PeerRecord()
                change(&record)
                state.memory[peer] = record.isEmpty ? nil : record
            }
        }
        let (isFirst, failure): (Bool, BLEError?) = state.withLock { state in
            // Read under the lock: outside, the file may be replaced between the reading and the entry.
            let (base, failure) = state.pending[peer] == nil ? read(peer) : (PeerRecord(), nil)
            var entry = state.pending[peer] ?? (base, [])
            change(&entry.record)
            entry.changes.append(change)
            defer { state.pending[peer] = entry }
            return (entry.changes.count == 1, failure)
        }
        if let failure { warning(failure) }
        if isFirst { queue.async { self.writePending(peer) } }
    }

    /// Waits until everything that was changed so far is on the disk, or has been given up with a warning.
    public func flush() async {
        guard folder != nil else { return }
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    // MARK: - Files

    /// The record in a peer's file, empty where there is none; and what was wrong with the file.
    private func read(_ peer: BluetoothAddress) -> (PeerRecord, BLEError?) {
        do throws(BLEError) {
            return (try folder?.read(peer) ?? PeerRecord(), nil)
        } catch {
            return (PeerRecord(), error)
        }
    }

    /// Brings a file up to date, on the queue.
    private func writePending(_ peer: BluetoothAddress) {
        while let changes = state.withLock({ $0.pending[peer]?.changes }) {
            if let failure = write(changes, peer) { warning(failure) }
            state.withLock { state in
                state.pending[peer]?.changes.removeFirst(changes.count)
                if state.pending[peer]?.changes.isEmpty == true { state.pending[peer] = nil }
            }
        }
    }

    private func write(_ changes: [Change], _ peer: BluetoothAddress) -> BLEError? {
        guard let folder else { return nil }
        do throws(BLEError) {
            try folder.whileLocked { () throws(BLEError) in
                var (record, failure) = read(peer)
                if let failure { warning(failure) }
                for change in changes { change(&record) }
                try folder.write(record, of: peer)
            }
            return nil
        } catch {
            return error
        }
    }
}
