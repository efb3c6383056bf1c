import BLEProtocol
import BLERadio

extension JoinedRadio {
    /// Whether all of them use private addresses.
    func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        together(present, "read privacy") { member, answer in
            member.radio.readPrivacy(result: answer)
        } result: { outcomes in
            if let failure = outcomes.compactMap(\.failure).first { return result(.failure(failure)) }
            result(.success(outcomes.allSatisfy { (try? $0.get()) == true }))
        }
    }

    /// Sets the privacy of all that are present, each with its own key.
    func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        together(present, "set privacy") { member, answer in
            member.radio.setPrivacy(privacy, result: answer)
        } result: { outcomes in
            result(outcomes.compactMap(\.failure).first.map { .failure($0) } ?? .success(()))
        }
    }
}
