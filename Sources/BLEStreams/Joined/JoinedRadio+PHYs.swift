import BLEProtocol
import BLERadio

extension JoinedRadio {
    /// The PHYs of all of them.
    func readPHYs(result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void) -> RadioActivity {
        together(present, "read PHYs") { member, answer in
            member.radio.readPHYs(result: answer)
        } result: { outcomes in
            result(Self.common(outcomes))
        }
    }

    private static func common(_ outcomes: [Result<AdapterPHYs, BLEError>]) -> Result<AdapterPHYs, BLEError> {
        do throws(BLEError) {
            var common: AdapterPHYs?
            for outcome in outcomes {
                let phys = try outcome.get()
                guard let former = common else {
                    common = phys
                    continue
                }
                common = AdapterPHYs(
                    supported: former.supported.intersection(phys.supported),
                    configurable: former.configurable.intersection(phys.configurable),
                    selected: former.selected.intersection(phys.selected)
                )
            }
            guard let common else { return .failure(.noneJoined(operation: "read PHYs", object: "")) }
            return .success(common)
        } catch {
            return .failure(error)
        }
    }

    /// Selects the PHYs on all that are present.
    func selectPHYs(
        _ selection: AdapterPHYs.Selection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        together(present, "select PHYs") { member, answer in
            member.radio.selectPHYs(selection, result: answer)
        } result: { outcomes in
            result(outcomes.compactMap(\.failure).first.map { .failure($0) } ?? .success(()))
        }
    }
}
