public import BLEProtocol
import BLERadio
import CLibrary
@preconcurrency import Dispatch
import Synchronization

/// Persistent data of peers: bonds, GATT caches, sessions; one JSON file for each peer.
///
/// By default the files are in `$STATE_DIRECTORY/blestreams` in a systemd service with `StateDirectory=`, otherwise in
/// `$XDG_STATE_HOME/blestreams` (or `~/.local/state/blestreams`), with mode 0600 in a folder of mode 0700. The store
/// refuses, with a warning, a folder that belongs to another user or that others may write to, and a symbolic link in
/// place of a file: the files decide which keys the kernel gets. A file is replaced as a whole, so that after a power
/// failure either the old or the new one exists. A damaged file is set aside in the same folder and named in a warning,
/// and its content is determined again; a file that can't be used for another reason stays as it is. A bond that could
/// not be written, for example to a full disk, is kept in memory while the program runs, and is written with the next
/// change of any peer that can be, or by ``flush()``; so are what a bonded central has configured, the plan of a
/// session with ``Session/Plan/isKept`` or its removal, and the removal of a peer's services that others have taken the
/// place of, or by ``Peripheral/forgetServices()``. Of peers with which there is neither a bond nor a session, a store
/// keeps the services alone, of about 1,024 peers: those whose records were written last; and none of more than 2,048
/// attributes.
///
/// Several programs may share a folder: each change applies to the file's content at that moment. A program that was
/// stopped while it wrote, or whose disk doesn't answer, keeps the others from changing files: they wait ten seconds,
/// and then name it in a warning and go on; what they have to write is kept in memory like that of a full disk.
///
/// The store reads and writes files on its own queues; links, scans and the radio's thread never wait for a file.
public final class PeerStore: Sendable {
    /// Called with a problem of a file, or another problem that makes no call of the program fail.
    public typealias Warning = @Sendable (BLEError) -> Void

    typealias Change = @Sendable (inout PeerRecord) -> Void

    /// A problem beside the program's calls that it was told of.
    private struct Told: Hashable {
        let object: String
        let text: String
    }

    private struct State {
        /// The changes that the files still lack, oldest first.
        var pending: [BluetoothAddress: [PendingChange]] = [:]
        /// The peers whose files the queue is to change, or is changing.
        var scheduled: Set<BluetoothAddress> = []
        /// Why the last attempt to change a file failed.
        var failures: [BluetoothAddress: BLEError] = [:]
        /// Counts the writes to disk: a reader that sees it change reads again.
        var writes = 0
        /// The records of a store without a folder.
        var memory: [BluetoothAddress: PeerRecord] = [:]
        /// Those of them that hold services alone, in the order of their last changes.
        var strangers = RecencyTable<BluetoothAddress, Void>()
        /// Another program keeps the files locked; whoever has waited for it once doesn't wait again.
        var isLockedOut = false
        /// The warnings about files.
        var told = ToldProblems()
        /// How often each problem beside the program's calls has occurred.
        var counts: [Told: Int] = [:]

        /// Changes a record of a store without a folder, and forgets the stranger that was changed longest ago, if
        /// there are too many.
        mutating func update(_ peer: BluetoothAddress, _ change: Change) {
            var record = memory[peer] ?? PeerRecord()
            record.apply(change)
            memory[peer] = record.isEmpty ? nil : record
            strangers.remove(peer)
            guard record.isStrangers else { return }
            strangers.insert(peer, (), at: .zero)
            guard strangers.count > PeerFolder.usualStrangers, let oldest = strangers.oldest?.key else { return }
            strangers.remove(oldest)
            memory[oldest] = nil
        }
    }

    /// `nil`: everything is kept in memory only.
    let folder: PeerFolder?
    private let warning: Warning
    /// The sessions of this program whose plans are stored here.
    let planKeepers = PlanKeepers()
    private let state = Mutex(State())
    /// What the files hold, as they were when they were last read.
    let index = Mutex(StoreIndex())
    /// Writes the files: neither the radio's thread nor a program's task waits for a slow disk.
    private let queue = DispatchQueue(label: "BLEStreams.store")
    /// Reads files for a link, which doesn't wait for another program that holds the folder's lock either.
    private let reading = DispatchQueue(label: "BLEStreams.store.reading")

    /// Marks the store's own queues.
    private static let mark = DispatchSpecificKey<Bool>()

    /// Whether this code runs on one of a store's queues.
    static var isOnQueue: Bool { DispatchQueue.getSpecific(key: mark) == true }

    /// - Parameter folder: `nil`: everything is kept in memory only.
    init(folder: PeerFolder?, warning: @escaping Warning) {
        self.folder = folder
        self.warning = warning
        for queue in [queue, reading] { queue.setSpecific(key: Self.mark, value: true) }
    }

    /// The files of this user or service, in the folder that ``PeerStore`` names; warnings go to standard error.
    public static let standard = PeerStore(folder: PeerFolder.standardPath)

    /// The same files, with warnings for the program to show. Pass this one store to everything in the program.
    public static func standard(warning: @escaping Warning) -> PeerStore {
        PeerStore(folder: PeerFolder.standardPath, warning: warning)
    }

    /// Makes a store in a folder, which is created when the first file is written.
    ///
    /// - Parameters:
    ///   - folder: its path.
    ///   - warning: called for files that could not be read or written, on any thread; by default it prints to standard
    ///     error.
    public convenience init(folder: String, warning: @escaping Warning = PeerStore.printWarning) {
        self.init(folder: PeerFolder(path: folder), warning: warning)
    }

    /// A store in memory only: for tests, and for programs that must leave no trace.
    public static func inMemory() -> PeerStore { PeerStore(folder: nil, warning: { _ in }) }

    /// Prints a warning to standard error, as one line.
    public static let printWarning: Warning = { error in
        var line = Array("blestreams: \(error)\n".utf8)
        // One call, so that lines of several threads don't mix.
        _ = CLibrary.write(STDERR_FILENO, &line, line.count)
    }

    /// Tells the program of a problem beside its calls; may be called from any thread, and never calls the program on
    /// it. One that recurs is told the 1st, the 10th and the 100th time, and so on: a peripheral that has it on each of
    /// its links can't fill a log, under whatever addresses it comes.
    func warn(_ error: BLEError) {
        let count = state.withLock { state in
            var problem = Told(object: error.object, text: "\(error.operation): \(error.cause)")
            let isNew = state.counts[problem] == nil
            if isNew, state.counts.count >= Self.mostTold { problem = Told(object: "", text: problem.text) }
            if state.counts[problem] == nil, state.counts.count >= 2 * Self.mostTold { state.counts = [:] }
            state.counts[problem, default: 0] += 1
            return state.counts[problem, default: 1]
        }
        guard ServerWarnings.isRound(count) else { return }
        queue.async { [warning] in warning(error) }
    }

    /// How much is told of single objects: each peer may have its own problem. What is told beyond that of any object
    /// counts together.
    private static let mostTold = 256

    // MARK: - Records

    /// Runs the closure where files may be read: immediately if there are no files, otherwise on one of the store's
    /// queues, while a simulated clock stands still. It reads the result of all changes requested before.
    func perform(on timeline: any Timeline, _ body: @escaping @Sendable () -> Void) {
        guard folder != nil else { return body() }
        let hold = timeline.hold()
        reading.async {
            body()
            hold.cancel()
        }
    }

    /// Why its files can't be read or written; `nil` if they can, or if all is in memory. Makes and changes nothing.
    func examine() async -> BLEError? {
        guard let folder else { return nil }
        return await withCheckedContinuation { continuation in
            reading.async { continuation.resume(returning: folder.examine()) }
        }
    }

    /// The record of a peer; empty if there is none. Reads a file: not for the radio's thread.
    func record(of peer: BluetoothAddress) -> PeerRecord { reading(of: peer).record }

    /// The same, and whether its file could be read: otherwise the record has only what the file lacks.
    func reading(of peer: BluetoothAddress) -> (record: PeerRecord, isWhole: Bool) {
        guard folder != nil else { return (state.withLock { $0.memory[peer] ?? PeerRecord() }, true) }
        while true {
            let (changes, writes) = state.withLock { ($0.pending[peer] ?? [], $0.writes) }
            let found = read(peer)
            if let told = found.told { tell(told) }
            var record = found.record
            // A change written to disk meanwhile would apply twice, or not at all.
            guard state.withLock({ $0.writes == writes }) else { continue }
            for pending in changes { pending.change(&record) }
            return (record, found.isWhole)
        }
    }

    /// All peers with a record, in the order of their addresses. Reads files, as ``record(of:)``.
    func peers() -> [BluetoothAddress] { knownPeers().peers }

    /// The same, and why these may not be all: there may be files, and the folder can't be read. The program has been
    /// told of it.
    func knownPeers() -> (peers: [BluetoothAddress], obstacle: BLEError?) {
        let changed = changedPeers
        guard let folder else { return (state.withLock { $0.memory.keys.sorted { $0.rawValue < $1.rawValue } }, nil) }
        var (peers, obstacle): (Set<BluetoothAddress>, BLEError?) = ([], nil)
        do throws(BLEError) {
            peers = Set(try folder.peers())
        } catch {
            tell(error)
            if folder.mayHaveFiles { obstacle = error }
        }
        for peer in changed {
            if record(of: peer).isEmpty { peers.remove(peer) } else { peers.insert(peer) }
        }
        return (peers.sorted { $0.rawValue < $1.rawValue }, obstacle)
    }

    /// The peers with changes that their files lack.
    var changedPeers: [BluetoothAddress] { state.withLock { Array($0.pending.keys) } }

    /// Changes a peer's record: for this program immediately, on disk soon. Accesses no file itself.
    ///
    /// - Parameters:
    ///   - isLasting: whether to try again if it could not be written.
    ///   - isOfBond: whether it makes or ends a bond, which is tried again whatever else changes.
    ///   - change: called more than once if there is a file: it must depend on nothing but the record.
    func update(_ peer: BluetoothAddress, isLasting: Bool = false, isOfBond: Bool = false, _ change: @escaping Change) {
        update(peer, PendingChange(change: change, worth: isOfBond ? .bond : isLasting ? .lasting : .passing))
    }

    /// The same, with several changes that are written together.
    func update(_ peer: BluetoothAddress, _ changes: PendingChange...) {
        guard folder != nil else {
            return state.withLock { state in for pending in changes { state.update(peer, pending.change) } }
        }
        state.withLock { $0.pending[peer, default: []] += changes }
        schedule(peer)
    }

    private func schedule(_ peer: BluetoothAddress) {
        let isNew = state.withLock { $0.scheduled.insert(peer).inserted }
        if isNew { queue.async { self.writePending(peer) } }
    }

    /// Why a lasting change of a peer, such as of its bond, is not on disk; `nil` if it is, or there was none.
    func failure(of peer: BluetoothAddress) -> BLEError? { state.withLock { $0.failures[peer] } }

    /// The same, only if a change of its bond is among those that are not on disk.
    func bondFailure(of peer: BluetoothAddress) -> BLEError? {
        state.withLock { state in
            let isOfBond = state.pending[peer]?.contains { $0.worth == .bond } == true
            return isOfBond ? state.failures[peer] : nil
        }
    }

    /// Waits until all changes so far are on disk, or have been given up with a warning.
    public func flush() async {
        guard folder != nil else { return }
        for peer in state.withLock({ Array($0.pending.keys) }) { schedule(peer) }
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    /// The same, while a simulated clock stands still.
    func flush(on timeline: any Timeline) async {
        let hold = timeline.hold()
        await flush()
        hold.cancel()
    }

    /// Calls back after that, while a simulated clock stands still; immediately if there are no files.
    func whenWritten(on timeline: any Timeline, _ body: @escaping @Sendable () -> Void) {
        guard folder != nil else { return body() }
        let hold = timeline.hold()
        queue.async {
            body()
            hold.cancel()
        }
    }

    // MARK: - Files

    func tell(_ failure: BLEError) {
        if state.withLock({ $0.told.isNews(failure) }) { warning(failure) }
    }

    /// The record in a peer's file, empty if there is none; what there is to tell of the file, if anything; and whether
    /// it could be read.
    private func read(_ peer: BluetoothAddress) -> (record: PeerRecord, told: BLEError?, isWhole: Bool) {
        guard let folder else { return (PeerRecord(), nil, true) }
        do throws(BLEError) {
            let (record, notice) = try folder.read(peer)
            return (record, notice, true)
        } catch {
            return (PeerRecord(), error, false)
        }
    }

    /// Writes a peer's pending changes, on the queue.
    private func writePending(_ peer: BluetoothAddress) {
        while let changes = next(peer) {
            var madeStrangers = false
            let failure = write(changes.map(\.change), peer, &madeStrangers)
            if let failure { tell(failure) }
            let kept = failure.map { self.kept(of: changes, of: peer, after: $0) } ?? []
            let mustRest = state.withLock { state in
                state.writes += 1
                let rest = state.pending[peer]?.dropFirst(changes.count) ?? []
                state.pending[peer] = kept.isEmpty && rest.isEmpty ? nil : kept + rest
                state.failures[peer] = kept.isEmpty ? nil : failure
                // What came meanwhile is tried once, too: whoever has asked for it is told whether it is on disk.
                guard failure != nil, rest.isEmpty else { return false }
                state.scheduled.remove(peer)
                return true
            }
            if madeStrangers { forgetStrangers(whenWriting: peer) }
            // What is kept is tried again with the next change.
            if mustRest { return }
            guard failure == nil else { continue }
            // There may be room again for what other peers' files lack, and no change of theirs need follow for months.
            for other in changedPeers where other != peer { schedule(other) }
        }
    }

    /// The changes that a file lacks; `nil` if there are none, and then it is no longer scheduled.
    private func next(_ peer: BluetoothAddress) -> [PendingChange]? {
        state.withLock { state in
            if state.pending[peer] == nil { state.scheduled.remove(peer) }
            return state.pending[peer]
        }
    }

    private func write(_ changes: [Change], _ peer: BluetoothAddress, _ madeStrangers: inout Bool) -> BLEError? {
        guard let folder else { return nil }
        var notice: BLEError?
        // Also where the change fails: a file that has been set aside is not found damaged again.
        defer { if let notice { tell(notice) } }
        do throws(BLEError) {
            let isPatient = state.withLock { !$0.isLockedOut }
            let outcome = try folder.change(peer, isPatient: isPatient, &notice) { record in
                for change in changes { change(&record) }
            }
            madeStrangers = outcome == .newStranger
            state.withLock { state in
                state.isLockedOut = false
                // That this file can be written says nothing of the others, and one that stays as it is needs no room.
                state.told.wrote { folder.isFile($0, ofOtherThan: outcome == .unchanged ? nil : peer) }
            }
            return nil
        } catch {
            let isOfLock = error.operation == "lock"
            // One that could not be opened tells nothing of other programs.
            if !isOfLock || error.systemError == nil { state.withLock { $0.isLockedOut = isOfLock } }
            return error
        }
    }
}
