internal import BLEProtocol
internal import BLERadio

/// One of the ways in which the kernel lets a program scan.
protocol ScanWay: Sendable {
    /// Starts, on the loop's thread.
    func begin()

    /// Ends the scan, on any thread. Idempotent.
    func cancel()
}

/// Why one way to scan is not, or no longer, possible.
enum ScanFailure: Error, Hashable {
    /// A management command failed.
    case management(ManagementFailure)
    /// A system call failed.
    case system(SystemError)
    /// The controller refused, with an HCI status.
    case controller(UInt8)
    /// The controller did not answer the HCI command with this opcode.
    case silent(UInt16)
    /// The adapter was removed; it may be there again.
    case removed
}

/// The adapter that a scan uses, and whether another program shares it.
struct ScanPlace: Sendable {
    var loop: EventLoop
    var timeline: any Timeline
    /// What the adapter is now; `nil` while it is absent.
    var adapter: @Sendable () -> AdapterFacts?
    /// How often the adapter had been removed when it was last looked at.
    var removals: @Sendable () -> Int = { 0 }
    var leftovers: Leftovers
    /// Whether another program may want to discover too.
    var hasNeighbour: @Sendable () -> Bool
}
