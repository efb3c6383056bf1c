public import BLEProtocol

extension PeripheralServer {
    /// Sends a message in chunks as large as the link carries, each a notification, and its end mark.
    ///
    /// ```swift
    /// let story = BluetoothUUID(0xFFF1)
    /// let teller = LocalPeripheral(name: "Teller") {
    ///     LocalService(BluetoothUUID(0xFFF0)) { LocalCharacteristic(story, [.notify]) }
    /// }
    /// try await teller.run { server in
    ///     for try await change in server.subscriptions(of: story) where change.isSubscribed {
    ///         try await server.send("Once upon a time …".utf8, of: story, to: change.central)
    ///     }
    /// }
    /// ```
    ///
    /// The message is cut so that no data looks like the mark, and the central takes nothing for the end that isn't. It
    /// takes one message of a characteristic at a time: the chunks of two that are sent at once would be mixed. Cancelled
    /// or failed in the middle, the central has the beginning of a message, and gets no mark.
    ///
    /// - Parameters:
    ///   - message: any number of octets, none too.
    ///   - uuid: the characteristic, to which the central has subscribed.
    ///   - central: who gets it.
    ///   - mark: how the central tells the end; unless said otherwise "EOM" as a chunk of its own.
    /// - Throws: ``BLEError/Code/invalidArgument``, before anything is sent, where the message can't be sent with this mark:
    ///   it contains the delimiter, it is longer than its length prefix can say, or it looks like the mark however it is
    ///   cut, as a message does that is nothing but a mark of one octet; ``BLEError/Code/overflow`` where the mark
    ///   doesn't fit into a chunk of MTU − 3 octets, 512 at most; else as ``notify(_:of:to:)``.
    public func send(
        _ message: some Collection<UInt8>,
        of uuid: BluetoothUUID,
        to central: ConnectedCentral,
        endingWith mark: EndMark = .endOfMessage()
    ) async throws {
        let chunks = try chunks(of: message, endingWith: mark, mtu: central.mtu, object: "of \(uuid) to \(central)")
        for chunk in chunks { try await notify(chunk, of: uuid, to: central) }
    }
}

extension Link {
    /// Writes a message in chunks as large as the link carries, and its end mark: what ``PeripheralServer/send(_:of:to:endingWith:)``
    /// is in the other direction.
    ///
    /// The link is held meanwhile, so nothing of this program comes between two chunks. The message is cut so that no data
    /// looks like the mark. Cancelled or failed in the middle, the peripheral has the beginning of a message, and gets no
    /// mark.
    ///
    /// ```swift
    /// try await link.send("Once upon a time …".utf8, to: BluetoothUUID(0xFFF2), endingWith: .endOfMessage("EOM"))
    /// ```
    ///
    /// - Parameters:
    ///   - message: any number of octets, none too.
    ///   - uuid: the characteristic.
    ///   - mark: how the peripheral tells the end; unless said otherwise "EOM" as a chunk of its own.
    ///   - kind: how each chunk is written; with response unless said otherwise.
    /// - Throws: ``BLEError/Code/invalidArgument`` and ``BLEError/Code/overflow`` as
    ///   ``PeripheralServer/send(_:of:to:endingWith:)``, before anything is sent; else as ``write(_:to:in:_:timeout:)``.
    public func send(
        _ message: some Collection<UInt8>,
        to uuid: BluetoothUUID,
        endingWith mark: EndMark = .endOfMessage(),
        _ kind: WriteKind = .withResponse
    ) async throws {
        let object = "to \(uuid) of \(peripheral)"
        let chunks = try chunks(of: message, endingWith: mark, mtu: mtu, object: object)
        try await exclusively { link in
            for chunk in chunks { try await link.write(chunk, to: uuid, kind) }
        }
    }
}

/// The chunks of a message on a link with this MTU: neither a notification nor a write carries more than 512 octets of a
/// value (Core Specification, Vol 3, Part F, 3.2.9).
private func chunks(
    of message: some Collection<UInt8>,
    endingWith mark: EndMark,
    mtu: Int,
    object: String
) throws -> [ArraySlice<UInt8>] {
    do throws(MessageCutter.Refusal) {
        return try MessageCutter.chunks(of: Array(message), endingWith: mark, limit: min(mtu - 3, 512))
    } catch {
        throw BLEError.cannotSend(error, object: object)
    }
}

extension BLEError {
    fileprivate static func cannotSend(_ refusal: MessageCutter.Refusal, object: String) -> BLEError {
        let other = "Choose another end mark, or a length in front: EndMark.lengthPrefix(octets:order:)."
        let (code, cause, remedy) =
            switch refusal {
            case .markTooLong(let octets, let limit):
                (
                    Code.overflow, "the end mark has \(octets) octets, and a chunk on this link \(limit) at most",
                    "Choose a shorter end mark."
                )
            case .looksLikeMark: (.invalidArgument, "part of the message would be taken for its end mark", other)
            case .containsMark(let place):
                (.invalidArgument, "the message would end at octet \(place), where its delimiter stands", other)
            case .tooLong(let octets):
                (
                    .invalidArgument, "its length doesn't fit into \(octets) \(octets == 1 ? "octet" : "octets")",
                    "Give the length more octets, or send the message in parts."
                )
            }
        return BLEError(code, operation: "send", object: object, cause: cause, remedy: remedy)
    }
}
