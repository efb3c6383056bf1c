public import BLEProtocol

extension Peripheral {
    /// Makes links to this peripheral with these parameters from now on, and changes the one that is up.
    ///
    /// ```swift
    /// try await peripheral.prefer(.fast)       // … transfer …
    /// try await peripheral.prefer(.lowPower)
    /// ```
    ///
    /// What a single call of ``withLink(timeout:parameters:_:)`` or a session's plan says comes before it. It holds for this
    /// ``Central`` and as long as that is there.
    ///
    /// - Parameter parameters: what links are to be like; `nil`: as the central prefers, from the next link on.
    /// - Throws: ``BLEError/Code/notSupported`` where a link is up that the radio can't change: Linux before 6.11; the
    ///   parameters then hold from the next one on. ``BLEError/Code/permissionDenied`` without `CAP_NET_ADMIN`.
    ///   `CancellationError`.
    public func prefer(_ parameters: ConnectionParameters?) async throws {
        core.preferences.set(parameters, for: address)
        guard let parameters, let link = core.links.link(to: self) else { return }
        try await link.request(parameters)
    }
}
