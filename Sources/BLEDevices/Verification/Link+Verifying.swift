import BLEProtocol
public import BLEStreams

extension Link {
    /// Tests whether the peripheral behaves as declared: for firmware, and for your own server.
    ///
    /// ```swift
    /// let thermometer = LocalPeripheral(name: "Thermometer") {
    ///     LocalService(.environmentalSensing) { LocalCharacteristic(BluetoothUUID(0x2A6E), [.read, .notify]) }
    /// }
    /// let findings = try await link.verify(against: thermometer)
    /// for finding in findings { print(finding) }
    /// ```
    ///
    /// It looks for each declared service, with its characteristics, descriptors and properties. It reads values
    /// declared as readable, and briefly subscribes to those declared to notify or indicate. Access declared to require
    /// a more secure link must be refused on this link: verify once before ``Link/secure(to:answers:timeout:)`` and
    /// once after. If
    /// pairing answers are set, the first refusal raises the link automatically. Values of characteristics are not
    /// compared. There may be services that are not declared; of several services with the same UUID, the first
    /// declared corresponds to the first found.
    ///
    /// - Parameters:
    ///   - declaration: the expected peripheral; its name and advertisement are ignored.
    ///   - writing: whether to write values that can be read and written with response: with the octets just read,
    ///     which a device may still take as a command.
    ///   - timeout: how long each request may take; without it, the 30 s of the specification.
    /// - Returns: the deviations, in the order of the declaration; empty if there are none. The last one is of the kind
    ///   ``Link/VerificationFinding/Kind/failed(_:cause:)`` if the link was lost.
    /// - Throws: as ``discover(timeout:)``; ``BLEError/Code/securityFailed`` if a pairing fails,
    ///   ``BLEError/Code/servicesChanged`` if the services change meanwhile; `CancellationError` on cancellation, and
    ///   the subscriptions are switched off.
    public func verify(
        against declaration: LocalPeripheral,
        writing: Bool = false,
        timeout: Duration? = nil
    ) async throws -> [Link.VerificationFinding] {
        let database = try await discover(timeout: timeout)
        var verification = Verification(link: self, writing: writing, timeout: timeout)
        return try await verification.run([PromisedService](declaredBy: declaration.services), in: database)
    }

    /// Tests whether the peripheral behaves as its own services claim. See ``verify(against:writing:timeout:)``.
    ///
    /// It reads each value claimed to be readable, subscribes to each claimed to notify or indicate, and looks for each
    /// descriptor that the specification requires. A refusal that demands a more secure link is a finding only if the
    /// link is already authenticated.
    ///
    /// - Returns: the deviations, in ascending order of handles.
    /// - Throws: as for a declaration.
    public func verify(writing: Bool = false, timeout: Duration? = nil) async throws -> [Link.VerificationFinding] {
        let database = try await discover(timeout: timeout)
        var verification = Verification(link: self, writing: writing, timeout: timeout)
        return try await verification.run([PromisedService](claimedBy: database), in: database)
    }
}
