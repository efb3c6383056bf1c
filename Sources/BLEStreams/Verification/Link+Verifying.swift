import BLEProtocol

extension Link {
    /// Tries whether the peripheral does what a declaration says: a test for firmware, and for a server of one's own.
    ///
    /// ```swift
    /// let thermometer = LocalPeripheral(name: "Thermometer") {
    ///     LocalService(.environmentalSensing) { LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify]) }
    /// }
    /// let findings = try await link.verify(against: thermometer)
    /// for finding in findings { print(finding) }
    /// ```
    ///
    /// Each declared service is looked for, with its characteristics, descriptors and properties. What is declared to be
    /// readable is read, and what is notified or indicated is subscribed to for a moment. What is declared to take a more
    /// secure link must be refused on this one: verify once before ``secure(to:timeout:)`` and once after. Where
    /// somebody answers pairings, the first refusal raises the link by itself. Values of characteristics are not compared.
    /// Other services than the declared ones may be there; of two of one UUID the first declared is the first found.
    ///
    /// - Parameters:
    ///   - declaration: what the peripheral is to be like; its name and advertisement don't matter.
    ///   - writing: whether values that can be read and written with a response are written: with the octets that were
    ///     just read, which a device may still take for an order.
    ///   - timeout: how long each request may take; without it, the 30 s of the specification.
    /// - Returns: what isn't as declared, in the declared order; nothing where all is. The last one is of the kind
    ///   ``VerificationFinding/Kind/failed(_:cause:)`` where the link didn't last.
    /// - Throws: as ``discover(timeout:)``; ``BLEError/Code/securityFailed`` where a pairing that was begun fails,
    ///   ``BLEError/Code/servicesChanged`` where the services become others meanwhile; on cancellation `CancellationError`, and what was subscribed to is switched off.
    public func verify(
        against declaration: LocalPeripheral,
        writing: Bool = false,
        timeout: Duration? = nil
    ) async throws -> [VerificationFinding] {
        let database = try await discover(timeout: timeout)
        var verification = Verification(link: self, writing: writing, timeout: timeout)
        return try await verification.run([PromisedService](declaredBy: declaration.services), in: database)
    }

    /// Tries whether the peripheral does what its own services claim. See ``verify(against:writing:timeout:)``.
    ///
    /// Each value that is said to be readable is read, each that is said to be notified or indicated is subscribed to, and
    /// each descriptor that the specification asks for is looked for. That a link must be more secure for it is a claim
    /// too: such a refusal is a finding only where the link is authenticated already.
    ///
    /// - Returns: what isn't as claimed, ascending by handle.
    /// - Throws: as for a declaration.
    public func verify(writing: Bool = false, timeout: Duration? = nil) async throws -> [VerificationFinding] {
        let database = try await discover(timeout: timeout)
        var verification = Verification(link: self, writing: writing, timeout: timeout)
        return try await verification.run([PromisedService](claimedBy: database), in: database)
    }
}
