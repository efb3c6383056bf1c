public import BLEProtocol

extension Central {
    /// Examines this machine: whether there is a usable adapter, what the program may do, who else uses the adapter,
    /// and whether a store can be written.
    ///
    /// ```swift
    /// for finding in await Central.diagnose().findings where finding.severity == .obstacle { print(finding) }
    /// ```
    ///
    /// This needs no permission and changes nothing. It takes a few milliseconds; a controller or a system bus that
    /// doesn't answer prolongs it to some seconds, and cancellation doesn't shorten them.
    ///
    /// - Parameters:
    ///   - adapter: the name of the adapter to examine, `hci0`; `nil`: all, of which one that works is enough.
    ///   - store: the store to examine.
    /// - Returns: what was found; ``Diagnosis/isUsable`` if nothing keeps the library from working.
    public static func diagnose(adapter: String? = nil, store: PeerStore = .standard) async -> Diagnosis {
        var diagnosis = await withCheckedContinuation { continuation in
            MachineRadio.diagnose(adapter) { continuation.resume(returning: $0) }
        }
        if let error = await store.examine() {
            diagnosis.add(Diagnosis.Finding(.unusableStore, .obstacle, error))
        }
        return diagnosis
    }
}
