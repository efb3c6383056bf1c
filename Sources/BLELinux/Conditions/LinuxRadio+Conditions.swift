internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension LinuxRadio {
    /// Makes the kernel connect to a peer with these parameters, if this program may, and listens for the outcome; on
    /// the loop's thread, right before connecting.
    ///
    /// If bluetoothd runs, the parameters that it has loaded for devices that it isn't connecting to by itself are gone
    /// until it starts again, and such a device gets the kernel's own: a load discards all entries except those of Add
    /// Device and of connections that are being made (`hci_conn_params_clear_disabled`). No program can read the list
    /// in order to load it too, and Add Device would make the kernel listen for the peer, or forget it with its entry.
    /// Since Linux 6.11, loading one peer that already has an entry discards nothing: the second connection to a peer,
    /// and a change of a link, affect no other program.
    func prepareConnection(to peer: BluetoothAddress, _ parameters: ConnectionParameters) {
        monitor.open()
        excludedRoles.learn()
        made.withLock { made in
            // Far more than a controller has links; a forgotten entry costs a second request.
            if made.count >= 1024 { made = [:] }
            made[peer] = parameters
        }
        management?.submit(ManagementLoadConnectionParameters([.init(parameters, for: peer)])) { _ in }
    }

    func readConditions(
        of peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (LinkConditions) -> Void
    ) {
        let object = "of the link to \(peer)"
        var known = handle.flatMap { monitor.conditions($0) } ?? LinkConditions()
        if known.interval == nil { known.whyIncomplete = whyUnheard(object) }
        guard let management else { return loop.enqueue { [known] in result(known) } }
        let address = ManagementAddress(connectionName(of: peer))
        management.submit(ManagementGetConnectionInformation(address)) { [known, adapter] answer in
            var conditions = known
            switch answer {
            case .success(let information):
                conditions.rssi = information.rssi.map(Int.init)
                conditions.sendingPower = information.power.map(Int.init)
            case .failure(let failure) where failure.status == .permissionDenied:
                conditions.whyIncomplete =
                    known.whyIncomplete
                    ?? adapter.missingAdministration(for: "conditions", object: object)
            case .failure:
                break
            }
            result(conditions)
        }
    }

    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        monitor.observe(handle, changed)
    }

    /// Why the controller's events about a link were not received.
    private func whyUnheard(_ object: String) -> BLEError {
        switch monitor.refusal {
        case .notPermitted?:
            .missingCapability(.rawNetwork, operation: "conditions", object: object, on: adapter.kernel)
        case let error?: .system(error, call: "opening a raw HCI socket", operation: "conditions", object: object)
        case nil:
            BLEError(
                .notSupported,
                operation: "conditions",
                object: object,
                cause: "the link was made before this program listened to the adapter",
                remedy: "Drop the link, and connect again."
            )
        }
    }

    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        guard let management else { return result(.failure(.parametersNotChanged(peer))) }
        let link = handle.flatMap { monitor.conditions($0) }
        let loads = parameters.loads(for: link, madeWith: made.withLock { $0[peer] })
        // An entry under another address would be taken, and change nothing.
        let name = connectionName(of: peer)
        management.submit(ManagementReadVersion(), index: ManagementIndex.none) { [self] version in
            for load in loads.dropLast() {
                management.submit(ManagementLoadConnectionParameters([.init(load, for: name)])) { _ in }
            }
            let last = loads.last ?? parameters
            management.submit(ManagementLoadConnectionParameters([.init(last, for: name)])) { [self] answer in
                switch (answer, version) {
                case (.failure(let failure), _):
                    let object = "of the link to \(peer)"
                    result(.failure(failure.error(operation: "change parameters", object: object, adapter: adapter)))
                case (.success, .success(let version)) where version.changesLinks:
                    result(.success(()))
                case (.success, _):
                    result(.failure(.parametersNotChanged(peer)))
                }
            }
        }
    }
}

extension ConnectionParameters {
    /// The parameters to load, one after another, so that the kernel changes a link exactly once.
    ///
    /// The first load creates the kernel's entry for the peer if there is none, and changes nothing: a new entry
    /// changes no link. The last one finds the entry. The kernel leaves a link alone that already has the latency and
    /// the timeout and was *made* with the interval, whatever the interval is now: so the timeout is made to differ
    /// from the current one, by 10 ms if necessary. Source: kernel, `net/bluetooth/mgmt.c`, `load_conn_param`.
    func loads(for link: LinkConditions?, madeWith made: ConnectionParameters?) -> [ConnectionParameters] {
        guard let timeout = link?.supervisionTimeout, let latency = link?.latency else {
            // One of the two timeouts differs from the link's.
            return [withAnotherTimeout, withAnotherTimeout, self]
        }
        let change = timeout == supervisionTimeout ? withAnotherTimeout : self
        let same = made.flatMap {
            try? ConnectionParameters(interval: $0.interval, latency: latency, supervisionTimeout: timeout)
        }
        return [same ?? change, change]
    }
}

extension ManagementReadVersion.Response {
    /// Whether Load Connection Parameters changes a link that is up: since revision 23, Linux 6.11.
    var changesLinks: Bool { (UInt16(version), revision) >= (1, 23) }
}

extension BLEError {
    /// The kernel accepts the parameters, but does not change the existing link.
    static func parametersNotChanged(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .notSupported,
            operation: "change parameters",
            object: "of the link to \(peer)",
            cause: "this kernel can't change a link that is up",
            remedy: "Drop the link and connect again, which uses the new parameters; or use Linux 6.11 or later."
        )
    }
}
