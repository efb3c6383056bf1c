public import BLEProtocol
public import BLERadio
internal import Synchronization

/// A pairing capability to claim on the next link to a peer.
struct ClaimedCapability {
    let capability: PairingCapability
    /// Whether the adapter was set to it while a link was being made.
    var wasShown = false
}

/// Pairing for better keys than a link has.
extension LinuxRadio {
    /// Claims the capability while the link is being made: the kernel uses the adapter's setting at that moment, and
    /// ignores later ones.
    ///
    /// If bluetoothd runs, the adapter's setting stays as it is: it is the agent's, and can't be read back. The same
    /// applies while the pairings of centrals are answered: by this radio, or by another one on the adapter with a
    /// capability other than ``PairingCapability/noInputNoOutput``, be it this program's or that of another program of
    /// this library.
    public func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
        // Each link claims that by itself.
        if capability == .noInputNoOutput { return capabilities.withLock { $0[peer] = nil } }
        // This reads files, so it isn't done when the link is made.
        let isAlone = Bluetoothd.presenceByProcesses(on: adapter.kernel) == .absent
        capabilities.withLock { capabilities in
            // Far more than there are bonds to improve.
            if capabilities.count >= 256 { capabilities = [:] }
            capabilities[peer] = isAlone ? ClaimedCapability(capability: capability) : nil
        }
    }

    /// A link to a peer is made: what was claimed on it holds for that link alone. By the next one, a bluetoothd may
    /// have begun, from whose agent the capability would be taken.
    func capabilityIsUsed(on peer: BluetoothAddress) {
        capabilities.withLock { if $0[peer]?.wasShown == true { $0[peer] = nil } }
    }

    /// Sets the adapter to the capability claimed for a peer; the returned closure undoes it.
    ///
    /// It uses its own socket, on which the kernel carries out each command before it returns: this program makes no
    /// other link in between.
    func showCapability(to peer: BluetoothAddress) -> () -> Void {
        guard let capability = capabilities.withLock({ $0[peer]?.capability }), let facts = adapter.facts,
            !isCapabilityGiven(on: facts), let socket = try? FileDescriptor.hciSocket(of: adapter.kernel),
            (try? socket.bind(to: .control)) != nil
        else { return {} }
        let index = ManagementIndex(rawValue: facts.number)
        let descriptor = SharedDescriptor(socket)
        let set: (PairingCapability) -> Void = { capability in
            let packet = ManagementSetIOCapability(.init(capability)).packet(index: index)
            try? descriptor.descriptor.send(packet.encoded)
        }
        set(capability)
        capabilities.withLock { $0[peer]?.wasShown = true }
        return { [self] in if !isCapabilityGiven(on: facts) { set(.noInputNoOutput) } }
    }

    /// Whether the adapter's capability is that of a reception of pairings: by this radio, by another one of this
    /// program, or by another program of this library, which holds the note of it.
    private func isCapabilityGiven(on facts: AdapterFacts) -> Bool {
        if receivesPairings.withLock({ $0 }) || ReceivingAdapters.contains(adapter) { return true }
        return LeftoverNote(KernelThing(.capability, 0, of: facts), in: nil, of: adapter.kernel) == nil
    }

    func pairAnew(
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        _ result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        let object = "with \(peer)"
        // Under the former address, the kernel would look for another device, and nothing would end that.
        let peer = connectionName(of: peer)
        let surroundings: PairingSurroundings
        do throws(BLEError) {
            surroundings = try pairingSurroundings(for: "pair", object: object)
        } catch {
            loop.enqueue { sink.finish(.failure(error)) }
            return RadioActivity { sink.close() }
        }
        let pairing = PairingAnew(
            with: peer,
            in: surroundings,
            asking: interview,
            failure: { [adapter] in $0.error(operation: "pair", object: object, adapter: adapter) },
            sink: sink,
            demand: { [adapter, security] () throws(BLEError) in
                try adapter.demand(level, of: peer) { security.end(ofLinkTo: peer) }
            }
        )
        loop.enqueue { pairing.begin() }
        return RadioActivity { pairing.cancel() }
    }
}

extension LinuxAdapter {
    /// Requests a level for the connection with a peer, on a short-lived socket of its own: a refused request blocks
    /// its socket. Without a connection, the kernel would make one for a socket that is gone, and tell nothing of it.
    ///
    /// - Parameter end: why the last link ended, if that is known.
    fileprivate func demand(
        _ level: LinkSecurity.Level,
        of peer: BluetoothAddress,
        after end: () -> ManagementDisconnectReason?
    ) throws(BLEError) {
        let object = "with \(peer)"
        let facts = try linkable(for: "pair", object: object)
        if isConnected(to: peer) == false {
            throw .pairingBroken(with: peer, end() ?? .unspecified, hasBegun: false)
        }
        let address = facts.hasNoPublicAddress ? L2CAPAddress(anyAdapter: .public) : L2CAPAddress(facts.address)
        do throws(SystemError) {
            try FileDescriptor.l2capSocket(of: kernel)
                .demandSecurity(level.kernelLevel, of: L2CAPAddress(peer), from: address)
        } catch {
            throw .system(error, call: "connect", operation: "pair", object: object)
        }
    }
}
