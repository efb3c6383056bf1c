public import BLEProtocol
public import BLERadio

extension LinuxRadio {
    /// Reads the PHYs from the kernel through the management socket, which requires the capability `CAP_NET_ADMIN`.
    ///
    /// The corresponding command is Get PHY Configuration (BlueZ, `doc/mgmt-protocol.rst`), Linux 4.19 and later.
    public func readPHYs(
        result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void
    ) -> RadioActivity {
        let operation = "read PHYs"
        let sink = EventSink(result)
        loop.enqueue { [self] in
            readConfiguration(operation) { sink.finish($0.map(\.phys)) }
        }
        return RadioActivity { sink.close() }
    }

    /// Sets the PHYs in the kernel through the management socket, which requires the capability `CAP_NET_ADMIN` and an
    /// adapter that is on. The adapter's settings for classic Bluetooth stay as they are.
    ///
    /// The corresponding command is Set PHY Configuration (BlueZ, `doc/mgmt-protocol.rst`), Linux 4.19 and later.
    public func selectPHYs(
        _ selection: AdapterPHYs.Selection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        loop.enqueue { [self] in
            readConfiguration("select PHYs") { [self] answer in
                switch answer {
                case .failure(let error): sink.finish(.failure(error))
                case .success(let configuration): select(selection, configuration, sink)
                }
            }
        }
        return RadioActivity { sink.close() }
    }

    private func readConfiguration(
        _ operation: String,
        _ result: @escaping @Sendable (Result<ManagementGetPHYConfiguration.Response, BLEError>) -> Void
    ) {
        let name = "of \(adapter.name)"
        guard adapter.facts != nil else { return result(.failure(adapter.whyUnusable(for: operation, object: name))) }
        guard let management else {
            return result(.failure(adapter.missingAdministration(for: operation, object: name)))
        }
        management.submit(ManagementGetPHYConfiguration()) { [adapter] answer in
            result(answer.mapError { $0.error(operation: operation, object: name, adapter: adapter) })
        }
    }

    private func select(
        _ wish: AdapterPHYs.Selection,
        _ configuration: ManagementGetPHYConfiguration.Response,
        _ sink: EventSink<Result<Void, BLEError>>
    ) {
        let (operation, name) = ("select PHYs", "of \(adapter.name)")
        guard let selection = configuration.phys.selection(for: wish) else {
            return sink.finish(.failure(.physNotSupported(wish, by: adapter.name, configuration.phys)))
        }
        // The kernel rejects it without giving this reason.
        guard adapter.isUp, let management else {
            return sink.finish(.failure(adapter.whyUnusable(for: operation, object: name)))
        }
        let classic = configuration.selected.subtracting(.lowEnergy)
        let selected = classic.union(ManagementPHYs(selection))
        management.submit(ManagementSetPHYConfiguration(selected)) { [adapter] answer in
            sink.finish(answer.map { _ in }.mapError { $0.error(operation: operation, object: name, adapter: adapter) })
        }
    }
}
