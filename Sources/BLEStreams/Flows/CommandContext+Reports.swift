import BLERadio
import Synchronization

/// Reports: values that a device sends on request, up to one that says that there are no more.
extension CommandContext {
    /// Notes that the device is about to be asked for a report.
    ///
    /// - Returns: whether no other report of this characteristic can be under way on this link: nobody has begun one
    ///   without ``endReport(of:)``, and no earlier program has used the link.
    package func beginReport(of characteristic: CharacteristicReference) throws -> Bool {
        let bearer = try link.bearer
        let isAlone = bearer.unfinishedReports.withLock { $0.insert(characteristic).inserted }
        return isAlone && !bearer.radioLink.isResumed
    }

    /// Notes that a report has come to its end, and that no other one can be under way.
    package func endReport(of characteristic: CharacteristicReference) {
        _ = work.handle?.bearer.unfinishedReports.withLock { $0.remove(characteristic) }
    }
}
