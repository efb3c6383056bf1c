import BLEProtocol

extension PeerStore {
    /// What is tried again after a failed write: nothing where the file is already as these changes would leave it.
    /// Otherwise a tester that updates one device after another, where nothing can be written, would remember each for
    /// ever, and read its file whenever it needs the bonds. Reads a file.
    func kept(of changes: [PendingChange], of peer: BluetoothAddress, after failure: BLEError) -> [PendingChange] {
        var kept = PendingChange.kept(of: changes)
        guard !kept.isEmpty, failure.operation != TrustedFolder.unsynced, let folder else { return kept }
        guard let found = try? folder.read(peer) else {
            // As of a folder that is refused: however many peers are met, those to be forgotten there are not more.
            if changedPeers.count > folder.strangers { kept.removeAll { $0.worth == .forgetting } }
            return kept
        }
        if let notice = found.notice { tell(notice) }
        // Those that were to be removed are not there, whatever another program is just writing.
        if found.record.services == nil { kept.removeAll { $0.worth == .forgetting } }
        // Without a number, it may be another program that is just changing the file.
        guard failure.systemError != nil else { return kept }
        var record = found.record
        record.apply { record in for pending in kept { pending.change(&record) } }
        return record == found.record ? [] : kept
    }
}
