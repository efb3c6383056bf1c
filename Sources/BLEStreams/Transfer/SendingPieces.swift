import BLEProtocol

extension PeripheralServer {
    /// Sends octets as notifications, in pieces as large as the link carries, and waits while the central's queue is
    /// full. Nothing is sent if there are none.
    ///
    /// A central that unsubscribes meanwhile, and subscribes again, isn't sent the rest: it would take that for a
    /// beginning.
    ///
    /// - Throws: as ``notify(_:of:to:)-(Collection<UInt8>,_,_)``; ``BLEError/Code/overflow`` also if pieces are dropped
    ///   for newer values of the characteristic, or may have been cut since the central has agreed on a smaller MTU.
    ///   Pieces before the one that failed have been sent.
    package func notify(
        inPieces octets: some Collection<UInt8>,
        of key: some CharacteristicKey,
        to central: ConnectedCentral
    ) async throws {
        guard !octets.isEmpty else { return }
        let name = key.reference.selector
        let object = "\(name) to \(central)"
        let handle = try handle(of: name, 0, .notify, operation: "notify")
        let before = central.bearer.serve { server, _ in server.breaks(of: handle) }
        var rest = octets[...]
        while !rest.isEmpty {
            // The MTU may grow meanwhile.
            let piece = Array(rest.prefix(central.maximumValueLength))
            _ = try await central.queue(object) { server, database throws(ATTServer.SendRefusal) in
                try server.notify(handle, piece, .shared, continuing: before, database: database)
                return piece.count
            }
            rest = rest.dropFirst(piece.count)
        }
    }
}
