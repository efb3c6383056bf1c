public import BLEProtocol
public import BLERadio

extension Peripheral {
    /// Makes links to this peripheral with these parameters from now on, and changes the one that is up.
    ///
    /// ```swift
    /// try await peripheral.prefer(.fast)       // … transfer …
    /// try await peripheral.prefer(.lowPower)
    /// ```
    ///
    /// Their ``ConnectionParameters/limits`` replace those of the link, if any. What a single call of ``withLink(timeout:parameters:pairing:_:)`` or a session's plan says comes before it. It holds for this
    /// ``Central`` and as long as that is there.
    ///
    /// - Parameter parameters: what links are to be like; `nil`: as the central prefers, from the next link on.
    /// - Throws: ``BLEError/Code/notSupported`` where a link is up that the radio can't change: Linux before 6.11; the
    ///   parameters then hold from the next one on. ``BLEError/Code/permissionDenied`` without `CAP_NET_ADMIN`.
    ///   `CancellationError`.
    public func prefer(_ parameters: ConnectionParameters?) async throws {
        core.preferences.set(parameters, for: address)
        guard let parameters, let link = core.connector.link(to: self) else { return }
        // What it was kept to so far would undo the change.
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

    /// Says who answers when an operation on this peripheral turns out to need a more secure link: the link is then encrypted
    /// with the keys of a bond, or paired with, and the operation repeated.
    ///
    /// ```swift
    /// peripheral.allowPairing(.passkey(123_456))
    /// let state = try await peripheral.withLink { link in try await link.read(BluetoothUUID(0xFFF1)) }
    /// ```
    ///
    /// It holds for links that are up, too, and comes before what was said for the central; what a single call of
    /// ``withLink(timeout:parameters:pairing:_:)`` says comes before it. It lasts as long as this ``Central`` is there.
    ///
    /// - Parameter answers: who answers; `nil`: as it was said for the central.
    public func allowPairing(_ answers: PairingAnswers?) { core.preferences.set(answers, for: address) }

    /// Demands that a characteristic is used over links of a level only, whatever the peripheral itself asks for: a link that
    /// has less is raised before the first request that names it leaves, as by ``Link/secure(to:answers:timeout:)``.
    ///
    /// ```swift
    /// let code = BluetoothUUID(0xFFF2)
    /// peripheral.allowPairing(.passkey(123_456))
    /// peripheral.secure(code, to: .authenticated)
    /// try await peripheral.withLink { link in try await link.write([1, 2, 3, 4], to: code) }
    /// ```
    ///
    /// So what is secret is told to nobody who only has the peripheral's address. It holds for reads, writes of each kind,
    /// subscriptions and descriptors, in links, sessions and queues, and lasts as long as this ``Central`` is there. For an
    /// operation that names a handle, and for a read of all attributes of a type, ``Link/readAll(_:in:timeout:)``, the services
    /// are discovered first: one that brings descriptors of this characteristic is held to it, too. An operation for which the
    /// link could not be raised fails with the error of that, and sends nothing.
    ///
    /// - Parameters:
    ///   - key: the characteristic, named by its type: a demand holds for all that the peripheral has of it.
    ///   - level: what is needed; `nil`: nothing any more.
    public func secure(_ key: some CharacteristicKey, to level: SecurityLevel?) {
        guard let uuid = key.reference.uuid else {
            preconditionFailure("a demand names a characteristic by its type, not by a handle")
        }
        core.preferences.demand(level, for: uuid, of: address)
    }
}
