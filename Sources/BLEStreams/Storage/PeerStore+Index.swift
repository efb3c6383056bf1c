import BLEProtocol
import Synchronization

// What concerns all files: each is read again only after it has changed.
extension PeerStore {
    /// All bonds, of all adapters, in the order of the peers' addresses. Reads files, as ``record(of:)``.
    func bonds() -> [Bond] { knownBonds().bonds }

    /// The same, and why these may not be all: the first thing that could not be read, the folder or a file. The
    /// program has been told of it.
    func knownBonds() -> (bonds: [Bond], obstacle: BLEError?) {
        guard let folder else { return (peers().flatMap { self.bonds(with: $0) }, nil) }
        // Before the files are read: what is written meanwhile is read there.
        let changed = changedPeers
        var (bonds, obstacle): ([BluetoothAddress: [Bond]], BLEError?) = ([:], nil)
        do throws(BLEError) {
            let found = try read(folder, telling: true)
            (bonds, obstacle) = (found.index.bonds, found.obstacle)
        } catch {
            tell(error)
            obstacle = error
        }
        for peer in changed { bonds[peer] = self.bonds(with: peer) }
        return (bonds.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap(\.value), obstacle)
    }

    /// What the files hold now. Reads those that have changed since the last time.
    ///
    /// Several threads may do so at once: each has its own result, and leaves it for the next.
    ///
    /// - Parameter telling: whether the program is told of files that can't be read.
    /// - Returns: also why the first such file can't be read.
    private func read(
        _ folder: PeerFolder,
        telling: Bool
    ) throws(BLEError) -> (index: StoreIndex, obstacle: BLEError?) {
        let stamps = try folder.stamps()
        var found = index.withLock { $0 }
        var obstacle: BLEError?
        for peer in found.keep(stamps) {
            do throws(BLEError) {
                let (record, notice) = try folder.read(peer)
                // Told now or never: a damaged file has been set aside.
                if let notice { tell(notice) }
                if let stamp = stamps[peer] { found.take(record, of: peer, stamp) }
            } catch {
                if telling { tell(error) }
                obstacle = obstacle ?? error
            }
        }
        index.withLock { [found] in $0 = found }
        return (found, obstacle)
    }

    /// Removes the services of the strangers whose files were written longest ago, if there are too many: a tester
    /// meets more devices than a folder should have files. On the queue that writes.
    ///
    /// Another program that holds the folder is not waited for: the next stranger is another occasion.
    ///
    /// - Parameter latest: the stranger whose file was written just now.
    func forgetStrangers(whenWriting latest: BluetoothAddress) {
        guard let folder else { return }
        do throws(BLEError) {
            let found = try read(folder, telling: false).index
            for peer in found.strangers(beyond: folder.strangers, whenWriting: latest) {
                var notice: BLEError?
                defer { if let notice { tell(notice) } }
                // Another program may have a bond or a session with it by now.
                _ = try folder.change(peer, isPatient: false, &notice) { if $0.isStrangers { $0.services = nil } }
            }
        } catch {
            // The program is told of it when it needs a file.
        }
    }
}
