import BLEProtocol
import BLERadio

/// One attempt to raise a link to a level: encrypts it with the keys of a bond, or pairs, or pairs again for better
/// keys.
///
/// An existing bond is never replaced because the peripheral has lost it, and never by a weaker one: an impostor with
/// the peripheral's address could cause either. So nothing is paired while there may be a bond in a file that can't be
/// read.
final class SecurityRaise: Sendable {
    typealias Outcome = Result<Void, BLEError>

    private let bearer: Bearer
    private let peripheral: Peripheral
    private let level: LinkSecurity.Level
    private let isBonded: Bool
    private let interview: PairingInterview
    private let result: @Sendable (Outcome) -> Void
    /// Whether it was given up.
    private let over = Ending<Bool>()

    private var link: any ATTLink { bearer.radioLink }
    private var core: CentralCore { peripheral.core }
    private var object: String { "with \(peripheral)" }

    /// How long the encryption with a bond's keys may take: it needs only a few connection events.
    static let encryptionTime = Duration.seconds(10)

    /// The limit for all of it if no caller has one; the Security Manager gives each step 30 s.
    private static let limit = Duration.seconds(120)

    /// Starts; exactly one result comes, unless the returned closure is called before.
    ///
    /// - Parameter isBonded: whether the adapter of the link has a bond with the peripheral.
    static func start(
        on bearer: Bearer,
        to level: LinkSecurity.Level,
        of peripheral: Peripheral,
        isBonded: Bool,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Outcome) -> Void
    ) -> @Sendable () -> Void {
        let raise = SecurityRaise(bearer, level, peripheral, isBonded, interview, result)
        raise.begin()
        return { raise.over.end(true) }
    }

    private init(
        _ bearer: Bearer,
        _ level: LinkSecurity.Level,
        _ peripheral: Peripheral,
        _ isBonded: Bool,
        _ interview: PairingInterview,
        _ result: @escaping @Sendable (Outcome) -> Void
    ) {
        self.bearer = bearer
        self.level = level
        self.peripheral = peripheral
        self.isBonded = isBonded
        self.interview = interview
        self.result = result
    }

    private func begin() {
        let timer = core.timeline.schedule(after: Self.limit) { [self] in
            finish(.failure(.pairingTimedOut("pair", object: object, after: Self.limit)))
        }
        over.whenEnded { _ in timer.cancel() }
        guard link.security.isEncrypted else { return isBonded || link.hasKey ? encrypt() : pair() }
        pairAnew()
    }

    /// Ties the activity to the attempt: it is given up with it.
    private func hold(_ activity: RadioActivity) {
        over.whenEnded { isGivenUp in if isGivenUp { activity.cancel() } }
    }

    // MARK: - Steps

    private func encrypt() {
        let failed: @Sendable (BLEError?) -> Void = { [self] error in
            // A bond is stored and removed under the identity.
            core.store.perform(on: core.timeline) { [self] in
                let identity = core.identity(of: peripheral.address)
                let who = identity == peripheral.address ? object : "\(object), which is \(identity)"
                finish(.failure(.notEncrypted(error, operation: "encrypt link", object: who)))
            }
        }
        let timer = core.timeline.schedule(after: Self.encryptionTime) { failed(nil) }
        over.whenEnded { _ in timer.cancel() }
        link.encrypt { [self] outcome in
            timer.cancel()
            if case .failure(let error) = outcome { return failed(error) }
            guard isReached else { return pairAnew() }
            finish(.success(()))
        }
    }

    /// Goes on with a pairing, unless there may be a bond that can't be read now: it would be replaced unseen, and what
    /// answers may be another device.
    private func afterReadingBond(_ pair: @escaping @Sendable () -> Void) {
        core.store.perform(on: core.timeline) { [self] in
            guard !over.hasEnded else { return }
            if let obstacle = core.store.obstacle(to: core.identity(of: peripheral.address)) {
                // Who may not pair in any case may be the one who may not read the bonds: one remedy is for both.
                let refusal = core.radio.pairingObstacle?.about("pair", object)
                return finish(.failure(refusal ?? .bondUnread(obstacle, "pair", object)))
            }
            pair()
        }
    }

    private func pair() {
        afterReadingBond { [self] in
            // Only an adapter that was given its list, even an empty one, takes the identity of a peer with a private
            // address. If that fails, the pairing itself reports it.
            let undo = core.restoreAllBonds { [self] _ in
                guard !over.hasEnded else { return }
                // Only the peer is named to the radio, which may make another link to it.
                if let end = bearer.end { return finish(.failure(.endedWhilePairing(with: peripheral.address, end))) }
                hold(core.radio.pair(with: peripheral.address, asking: interview) { [self] in paired($0) })
            }
            hold(RadioActivity { undo() })
        }
    }

    private func pairAnew() {
        afterReadingBond { [self] in hold(link.raise(to: level, asking: interview) { [self] in paired($0) }) }
    }

    private func paired(_ outcome: Result<Bond?, BLEError>) {
        switch outcome {
        case .failure(let error): finish(.failure(error))
        case .success(nil): afterPairing()
        case .success(let bond?): keep(bond)
        }
    }

    /// Stores the bond, and waits until it is on disk: the peripheral already has its part, and a program may end soon.
    private func keep(_ bond: Bond) {
        core.store.perform(on: core.timeline) { [self] in
            if let objection = core.store.objection(to: bond, object) { return refuse(bond, objection) }
            core.remember(bond)
            core.store.whenWritten(on: core.timeline) { [self] in afterPairing() }
        }
    }

    private func refuse(_ bond: Bond, _ failure: BLEError) {
        core.disown(bond) { [self] in finish(.failure(failure)) }
    }

    /// The radio may have paired without encrypting, if it had the keys before: of another program, or of a bond that
    /// was adopted since the link was made. They may not suffice.
    private func afterPairing() {
        guard !over.hasEnded else { return }
        guard link.security.isEncrypted else { return encrypt() }
        finish(.success(()))
    }

    private var isReached: Bool { link.security.level.map { $0 >= level } ?? false }

    private func finish(_ outcome: Outcome) {
        guard over.end(false) else { return }
        guard !isReached, let current = link.security.level else { return result(outcome) }
        result(.failure(.notRaised(current, short: level, object: object, because: outcome.failure)))
    }
}

extension BLEError {
    /// A link that could not be raised to a level, and stays at its present one.
    fileprivate static func notRaised(
        _ current: LinkSecurity.Level,
        short level: LinkSecurity.Level,
        object: String,
        because error: BLEError?
    ) -> BLEError {
        var failure = BLEError(
            error?.code ?? .securityFailed,
            operation: "secure link",
            object: object,
            cause: "it is \(current), and could not be made \(level)",
            remedy: error?.remedy ?? "Pass answers that can enter a passkey or compare numbers, if the peripheral "
                + "supports that; it may not support a higher level."
        )
        if let error { failure.cause += ": \(error.cause)" }
        failure.pairingFailure = error?.pairingFailure
        (failure.reason, failure.systemError) = (error?.reason, error?.systemError)
        failure.isFinal = error?.isFinal ?? true
        return failure
    }
}
