internal import BLEProtocol
internal import BLERadio

extension LinuxAdapter {
    /// Why the kernel doesn't know the adapter's number, or has no adapter for a link: it is absent, or it is on, but
    /// for another program alone. Or it was removed, and is there again, and on.
    func whyUnknown(for operation: String, object: String) -> BLEError {
        guard let facts, facts.isUp else { return whyUnusable(for: operation, object: object) }
        if kernel.knows(facts.number) == true {
            return .adapterWasRemoved(name, operation: operation, object: object)
        }
        return .adapterTaken(name, operation: operation, object: object)
    }
}
