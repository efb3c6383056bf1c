internal import BLEProtocol
internal import BLERadio

extension LinuxRadio {
    /// Has the kernel connect to a peer with these parameters, unless this program may not, and hears how it goes; on the
    /// loop's thread, right before connecting.
    ///
    /// Beside bluetoothd, what that has loaded for devices that it isn't connecting to is gone until it starts again: the
    /// kernel keeps one list, and lets nobody read it. Such a device gets the kernel's own parameters.
    func prepareConnection(to peer: BluetoothAddress, _ parameters: ConnectionParameters) {
        monitor.open()
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
        management.submit(ManagementGetConnectionInformation(ManagementAddress(peer))) { [known] answer in
            var conditions = known
            switch answer {
            case .success(let information):
                conditions.rssi = information.rssi.map(Int.init)
                conditions.sendingPower = information.power.map(Int.init)
            case .failure(let failure) where failure.status == .permissionDenied:
                conditions.whyIncomplete =
                    known.whyIncomplete
                    ?? .missingCapability(.networkAdministration, operation: "conditions", object: object)
            case .failure:
                break
            }
            result(conditions)
        }
    }

    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        monitor.observe(handle, changed)
    }

    /// Why the controller's events about a link are not known.
    private func whyUnheard(_ object: String) -> BLEError {
        switch monitor.refusal {
        case .notPermitted?: .missingCapability(.rawNetwork, operation: "conditions", object: object)
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
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        guard let management else { return result(.failure(.parametersNotChanged(peer))) }
        let load = ManagementLoadConnectionParameters([.init(parameters, for: peer)])
        management.submit(ManagementReadVersion(), index: ManagementIndex.none) { [self] version in
            // The first one makes the kernel's entry where there is none, the second one finds it and changes the link.
            management.submit(load) { _ in }
            management.submit(load) { [self] answer in
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

extension ManagementReadVersion.Response {
    /// Whether Load Connection Parameters changes a link that is up: since revision 23, Linux 6.11.
    var changesLinks: Bool { (UInt16(version), revision) >= (1, 23) }
}

extension BLEError {
    /// The kernel takes the parameters, and leaves the link that is up as it is.
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
