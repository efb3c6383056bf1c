import BLEProtocol

extension PeerStore {
    /// What is tried again after a failed write: nothing where the file is already as these changes would leave it.
    /// Otherwise a tester that updates one device after another, where nothing can be written, would remember each for
    /// ever, and read its file whenever it needs the bonds. Reads a file.
    func kept(of changes: [PendingChange], of peer: BluetoothAddress, after failure: BLEError) -> [PendingChange] {
        let kept = PendingChange.kept(of: changes)
        // Without a number, it may be another program that is just changing the file.
        guard !kept.isEmpty, failure.systemError != nil, failure.operation != TrustedFolder.unsynced,
            let found = try? folder?.read(peer)
        else { return kept }
        if let notice = found.notice { tell(notice) }
        var record = found.record
        record.apply { record in for pending in kept { pending.change(&record) } }
        return record == found.record ? [] : kept
    }
}
