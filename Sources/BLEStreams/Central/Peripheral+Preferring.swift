public import BLEProtocol

extension Peripheral {
    /// Makes links to this peripheral with these parameters from now on, and changes the one that is up.
    ///
    /// ```swift
    /// try await peripheral.prefer(.fast)       // … transfer …
    /// try await peripheral.prefer(.lowPower)
    /// ```
    ///
    /// A link that is being made is changed as soon as it is up; where the radio can't do that, it keeps the parameters
    /// with which it was requested, and the next one has these.
    ///
    /// Their ``ConnectionParameters/limits`` replace those of the link, if any. Parameters of a single
    /// ``withLink(timeout:parameters:pairing:_:)`` call or of a session's plan take precedence. The preference applies
    /// to this ``Central``, for its lifetime.
    ///
    /// - Parameter parameters: the parameters of its links; `nil`: those of the central, from the next link on.
    /// - Throws: ``BLEError/Code/notSupported`` if the radio can't change the link that is up, as on Linux before 6.11;
    ///   the parameters then apply from the next link on. ``BLEError/Code/permissionDenied`` without `CAP_NET_ADMIN`;
    ///   ``BLEError/Code/timedOut`` after five seconds without an answer; `CancellationError`.
    public func prefer(_ parameters: ConnectionParameters?) async throws {
        core.preferences.set(parameters, for: address)
        guard let parameters, let link = core.connector.link(to: self) else { return }
        // The limits that applied so far would undo the change.
        let former = link.conditionWatch.letGo()
        do {
            try await link.request(parameters)
        } catch let error as BLEError {
            link.conditionWatch.keep(former)
            throw error
        } catch {
            link.conditionWatch.keep(parameters, haveBeenAskedFor: true)
            throw error
        }
        link.conditionWatch.keep(parameters, haveBeenAskedFor: true)
    }

    /// Sets who answers when an operation on this peripheral requires a more secure link: the library then encrypts the
    /// link with the keys of a bond, or pairs, and repeats the operation.
    ///
    /// ```swift
    /// peripheral.allowPairing(.passkey(123_456))
    /// let state = try await peripheral.withLink { link in try await link.read(BluetoothUUID(0xFFF1)) }
    /// ```
    ///
    /// It also applies to links that are up, and takes precedence over the central's answers; the answers of a single
    /// ``withLink(timeout:parameters:pairing:_:)`` call take precedence over it. It lasts for the lifetime of this
    /// ``Central``, or until `Central.with` returns. A closure that uses the peripheral keeps it, and so a central that
    /// was made by `Central.open`: `allowPairing(nil)` lets both go.
    ///
    /// - Parameter answers: who answers; `nil`: the central's answers.
    public func allowPairing(_ answers: PairingAnswers?) {
        core.preferences.set(answers, for: address)
        core.connector.announceAnew(for: self)
    }

    /// Requires a security level for a characteristic, whatever the peripheral itself requires: a link below the level
    /// is raised before the first request that names the characteristic is sent, as by
    /// ``Link/secure(to:answers:timeout:)``.
    ///
    /// ```swift
    /// let code = BluetoothUUID(0xFFF2)
    /// peripheral.allowPairing(.passkey(123_456))
    /// peripheral.secure(code, to: .authenticated)
    /// try await peripheral.withLink { link in try await link.write([1, 2, 3, 4], to: code) }
    /// ```
    ///
    /// So a device that merely has the peripheral's address never receives a secret. The requirement applies to reads,
    /// writes of each kind, subscriptions and descriptors, in links, sessions and queues, for the lifetime of this
    /// ``Central``. For an operation that names a handle, and for a read of all attributes of a type,
    /// ``Link/readAll(_:in:timeout:)``, the services are discovered first: the requirement also applies to one that
    /// returns descriptors of this characteristic. If the link can't be raised, the operation fails with that error and
    /// sends nothing. Values that the peripheral has sent by itself before the link had the level are not delivered,
    /// and count as dropped.
    ///
    /// - Parameters:
    ///   - key: the characteristic, however it is named: the requirement applies whichever way an operation names it. A
    ///     UUID means all characteristics of that type, in a service if it is named in one; a handle means the
    ///     characteristic that it belongs to, by its value or a descriptor; a discovered characteristic means that one,
    ///     and all of its type once the peripheral no longer has it where it was.
    ///   - level: the required level; `nil` removes the requirement that was made with the same key.
    public func secure(_ key: some CharacteristicKey, to level: LinkSecurity.Level?) {
        core.preferences.demand(level, for: key.reference.selector, of: address)
    }
}
