public import BLEProtocol
public import BLERadio

extension LinuxRadio {
    /// Pairs through the management socket, which takes the capability `CAP_NET_ADMIN`.
    ///
    /// Of several programs that listen to the kernel's questions any may answer: bluetoothd does, when an agent is
    /// registered with it.
    public func pair(
        with peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        let pairing = Pairing(with: peer, on: self, sink: EventSink(result))
        loop.enqueue { pairing.begin() }
        return RadioActivity { pairing.cancel() }
    }

    /// Gives the kernel the keys of bonds, unless bluetoothd runs: it gives the kernel its own, and there is one list.
    ///
    /// Keys that a pairing has made while bluetoothd ran are kept by bluetoothd too.
    public func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        loop.enqueue { [self] in
            let own = bonds.filter { $0.adapter == adapter.facts?.address }
            keys.load(own) { [self] outcome in
                sink.finish(
                    outcome.mapError {
                        $0.error(operation: "restore bonds", object: "of \(adapter.name)", adapter: adapter)
                    }
                )
            }
        }
        return RadioActivity { sink.close() }
    }

    /// Has the kernel forget a peer's keys; bluetoothd, where it runs, forgets them too.
    public func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        loop.enqueue { [self] in
            let object = "from \(peer)"
            guard let management else {
                return sink.finish(
                    .failure(.missingCapability(.networkAdministration, operation: "unpair", object: object))
                )
            }
            management.submit(ManagementUnpairDevice(ManagementAddress(peer), disconnects: true)) { [self] answer in
                switch answer {
                case .success:
                    keys.remove(peer)
                    sink.finish(.success(true))
                case .failure(let failure) where failure.status == .notPaired:
                    sink.finish(.success(false))
                case .failure(let failure):
                    sink.finish(.failure(failure.error(operation: "unpair", object: object, adapter: adapter)))
                }
            }
        }
        return RadioActivity { sink.close() }
    }
}
