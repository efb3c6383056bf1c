internal import BLEProtocol

/// One of the ways in which the kernel lets a program scan.
protocol ScanWay: Sendable {
    /// Starts, on the loop's thread.
    func begin()

    /// Ends the scan, in any thread. Idempotent.
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
}
