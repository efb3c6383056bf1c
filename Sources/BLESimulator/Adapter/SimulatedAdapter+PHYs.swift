public import BLEProtocol
public import BLERadio

extension SimulatedAdapter {
    /// Reads the PHYs of ``AdapterSettings/phys``, and the selected ones: all of them unless a program has selected
    /// some.
    public func readPHYs(
        result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome = core.perform { state -> Result<AdapterPHYs, BLEError> in
            if state.adapters[id].state == .absent, let error = state.unavailable(id, for: "read PHYs") {
                return .failure(error)
            }
            return .success(state.adapters[id].phys)
        }
        return timeline.schedule(after: .zero) { result(outcome) }
    }

    /// Selects PHYs for later links, until it is unplugged or reset: a link is on 1M unless both ends have selected 2M,
    /// whatever ``LinkTiming/phy`` says.
    public func selectPHYs(
        _ selection: AdapterPHYs.Selection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome = core.perform { state -> Result<Void, BLEError> in
            if let error = state.unavailable(id, for: "select PHYs") { return .failure(error) }
            let phys = state.adapters[id].phys
            guard let selected = phys.selection(for: selection) else {
                return .failure(.physNotSupported(selection, by: state.adapters[id].name, phys))
            }
            if let error = state.silence("Set PHY Configuration", of: id, for: "select PHYs") { return .failure(error) }
            state.adapters[id].selectedPHYs = selected
            return .success(())
        }
        return timeline.schedule(after: .zero) { result(outcome) }
    }
}

extension AdapterRecord {
    var phys: AdapterPHYs {
        let supported = AdapterPHYs.Selection(settings.phys.union([.le1M]))
        return AdapterPHYs(
            supported: supported,
            configurable: supported.subtracting(AdapterPHYs.Selection([.le1M])),
            selected: selectedPHYs?.intersection(supported) ?? supported
        )
    }

    /// Whether its links may be on 2M.
    var uses2M: Bool { phys.selected.sending.contains(.le2M) && phys.selected.receiving.contains(.le2M) }
}
