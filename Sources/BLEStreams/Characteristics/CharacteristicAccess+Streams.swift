extension CharacteristicAccess {
    /// The notifications or indications of a characteristic, for as long as the stream is iterated.
    ///
    /// The first iteration switches them on, the end of the last one switches them off; several iterations at once
    /// share one subscription. The consumer is in place before the peer is asked to send, so nothing that comes early
    /// is lost. Services are discovered first where they aren't known yet.
    ///
    /// A session's stream goes over all its links: the subscription is made on each link before the session is ready, and
    /// while there is none the stream waits; ``BLEStream/withGaps()`` shows for how long nothing could be received, and why.
    /// What the plan names stays on when the last iteration ends.
    ///
    /// ```swift
    /// for try await beat in session.notifications(of: .heartRateMeasurement) { print(beat.beatsPerMinute) }
    /// ```
    ///
    /// - Parameters:
    ///   - key: the characteristic; where the peripheral has several of a type, the first one is meant.
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - buffer: what happens when values come faster than they are taken.
    /// - Returns: a stream that ends when this side closes the link meanwhile; a session's ends with the session.
    /// - Throws (in the loop): ``BLEError/Code/disconnected`` with the reason when a link is lost, after everything
    ///   that was received, and where the link is over already; why a session failed; ``BLEError/Code/notFound``;
    ///   ``BLEError/Code/notSupported``; ``BLEError/Code/attributeError`` when the peer refuses;
    ///   ``BLEError/Code/malformedValue`` where the key has a type.
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

    /// The value of a characteristic: as it is read now, then each change that the peer notifies.
    ///
    /// Notifications are switched on before the value is read, so no change falls between the two; what is notified
    /// before the value has been read is contained in it, and not handed out. A session reads it again on each link.
    /// Parameters, end and errors are those of ``notifications(of:indications:buffer:)->BLEStream<Key.Value>``.
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
