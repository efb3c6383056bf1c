extension CharacteristicAccess {
    /// The notifications or indications of a characteristic, for as long as the stream is iterated.
    ///
    /// The first iteration switches them on, and the end of the last one switches them off; iterations at the same time
    /// share one subscription. The consumer is in place before the peer is asked to send, so early values aren't lost.
    /// If the services are not known yet, they are discovered first.
    ///
    /// Where a link brings five hundred values or more a second, and nothing is sent to the peer meanwhile, the
    /// kernel's radio reads them together, every 5 ms, which saves most of their cost; each keeps the time at which the
    /// kernel received it.
    ///
    /// A session's stream continues over all its links: the subscription is made on each link before the session is
    /// ready, and the stream waits while there is no link; ``BLEStream/withGaps()`` shows for how long nothing could be
    /// received, and why. Subscriptions of the session's plan stay on when the last iteration ends.
    ///
    /// ```swift
    /// for try await beat in session.notifications(of: .heartRateMeasurement) { print(beat.beatsPerMinute) }
    /// ```
    ///
    /// - Parameters:
    ///   - key: the characteristic; if the peripheral has several of a type, the first one.
    ///   - indications: whether to prefer indications if the characteristic has both.
    ///   - buffer: what happens when values arrive faster than they are consumed.
    /// - Returns: a stream that ends when this side closes the link; a session's stream ends with the session.
    /// - Throws (in the loop): ``BLEError/Code/disconnected`` with the reason when the link is lost, after everything
    ///   that was received, or if it was down already; the error of a session that has failed;
    ///   ``BLEError/Code/notFound``; ``BLEError/Code/notSupported``; ``BLEError/Code/attributeError`` if the peer
    ///   refuses; ``BLEError/Code/servicesChanged`` if the characteristic has disappeared, or if the services change
    ///   faster than they can be discovered when the stream begins; ``BLEError/Code/malformedValue`` if the key has a
    ///   type.
    public func notifications<Key: CharacteristicKey>(
        of key: Key,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<Key.Value> {
        octets(of: key.reference, readingFirst: false, indications: indications, buffer: buffer)
            .map { try key.value(of: $0, during: "notifications") }
    }

    /// The notifications of a characteristic as octets. See ``notifications(of:indications:buffer:)``.
    public func notifications<Key: CharacteristicKey>(
        of key: Key,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> where Key.Value == CharacteristicValue {
        octets(of: key.reference, readingFirst: false, indications: indications, buffer: buffer)
    }

    /// The value of a characteristic: first the value that is read, then each change that the peer notifies.
    ///
    /// Notifications are switched on before the value is read, so no change is missed between the two; what is notified
    /// before the read has completed is contained in the value, and not delivered. A peripheral that sends faster than
    /// its link carries may answer the read first, as a ``LocalPeripheral`` does: changes that waited there then follow
    /// the newer value, and the latest one comes last. The value is read again when the peripheral's services have
    /// changed; a session also reads it again on each link. Parameters, end and errors are those of
    /// ``notifications(of:indications:buffer:)->BLEStream<Key.Value>``.
    public func values<Key: CharacteristicKey>(
        of key: Key,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<Key.Value> {
        octets(of: key.reference, readingFirst: true, indications: indications, buffer: buffer)
            .map { try key.value(of: $0, during: "values") }
    }

    /// The value of a characteristic as octets, and its changes. See ``values(of:indications:buffer:)``.
    public func values<Key: CharacteristicKey>(
        of key: Key,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> where Key.Value == CharacteristicValue {
        octets(of: key.reference, readingFirst: true, indications: indications, buffer: buffer)
    }
}
