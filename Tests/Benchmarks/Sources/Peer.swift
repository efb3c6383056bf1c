import CBenchmarks
import Foundation

/// A socket pair whose far end is served by a C peripheral on a thread of its own.
struct Peer: ~Copyable {
    /// The near end; whoever uses it closes it, and the peripheral ends with that.
    let near: Int32

    init(notifications count: UInt32 = 0, size: Int32 = 20) throws {
        var ends: [Int32] = [-1, -1]
        let failure = CBenchmarks_makePair(&ends)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
        near = ends[0]
        let far = ends[1]
        let thread = Thread {
            CBenchmarks_servePeripheral(far, count, size)
            close(far)
        }
        thread.stackSize = 1 << 20
        thread.start()
    }
}
