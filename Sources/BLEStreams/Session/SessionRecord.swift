import BLEProtocol

/// A session as stored in its peripheral's file: its whole plan, for the next run of the program.
struct SessionRecord: Codable, Equatable, Sendable {
    struct Subscription: Codable, Equatable, Sendable {
        var uuid: String?
        var service: String?
        var handle: UInt16?
        /// One that was given as discovered; its handle is written too, for older versions. Absent in older files.
        var characteristic: ServicesRecord.Characteristic?
        var indications: Bool
    }

    /// Durations in seconds.
    struct Reconnecting: Codable, Equatable, Sendable {
        var attempts: Int?
        var firstDelay: Double
        var factor: Double
        var longestDelay: Double
        var jitter: Double
        /// Absent in older files.
        var stableAfter: Double?
    }

    /// Durations in seconds.
    struct Limits: Codable, Equatable, Sendable {
        var search: Double?
        var connect: Double
        var discover: Double
        var initialise: Double
        var subscribe: Double
    }

    /// Durations in seconds.
    struct Parameters: Codable, Equatable, Sendable {
        var shortestInterval: Double
        var longestInterval: Double
        var latency: Int
        var supervisionTimeout: Double
        /// Absent in older files.
        var limits: ParameterLimits?
    }

    /// Durations in seconds.
    struct ParameterLimits: Codable, Equatable, Sendable {
        var shortestInterval: Double
        var longestInterval: Double
        var latency: Int
        var shortestTimeout: Double
        var longestTimeout: Double
        var corrections: Int
    }

    var name: String?
    var subscriptions: [Subscription]
    var requiredServices: [String]
    var discovers: Bool
    var limits: Limits
    var reconnecting: Reconnecting?
    var immediateAttempts: Int
    /// Absent in older files.
    var parameters: Parameters?
    /// The level by its name; absent in older files.
    var security: String?

    init(_ plan: Session.Plan, name: String?) {
        self.name = name
        subscriptions = plan.subscriptions.compactMap { Subscription($0) }
        requiredServices = plan.requiredServices.map { "\($0)" }
        discovers = plan.discovers
        limits = Limits(
            search: plan.limits.search?.seconds,
            connect: plan.limits.connect.seconds,
            discover: plan.limits.discover.seconds,
            initialise: plan.limits.initialise.seconds,
            subscribe: plan.limits.subscribe.seconds
        )
        reconnecting = plan.reconnecting.map { policy in
            Reconnecting(
                attempts: policy.attempts,
                firstDelay: policy.firstDelay.seconds,
                factor: policy.factor,
                longestDelay: policy.longestDelay.seconds,
                jitter: policy.jitter,
                stableAfter: policy.stableAfter.seconds
            )
        }
        immediateAttempts = plan.immediateAttempts
        security = plan.security?.rawValue
        parameters = plan.parameters.map { parameters in
            Parameters(
                shortestInterval: parameters.interval.lowerBound.seconds,
                longestInterval: parameters.interval.upperBound.seconds,
                latency: parameters.latency,
                supervisionTimeout: parameters.supervisionTimeout.seconds,
                limits: parameters.limits.map(ParameterLimits.init)
            )
        }
    }

    /// The plan; `nil` if the file has an invalid UUID or security level.
    func plan(for peer: BluetoothAddress) -> Session.Plan? {
        var plan = Session.Plan(peer)
        plan.isKept = true
        for subscription in subscriptions {
            guard let planned = subscription.planned else { return nil }
            plan.subscriptions.append(planned)
        }
        for text in requiredServices {
            guard let uuid = BluetoothUUID(text) else { return nil }
            plan.requiredServices.append(uuid)
        }
        plan.discovers = discovers
        plan.limits.search = limits.search.map { .bounded($0) }
        plan.limits.connect = .bounded(limits.connect)
        plan.limits.discover = .bounded(limits.discover)
        plan.limits.initialise = .bounded(limits.initialise)
        plan.limits.subscribe = .bounded(limits.subscribe)
        plan.reconnecting = reconnecting.map { kept in
            var policy = RetryPolicy(
                attempts: kept.attempts,
                firstDelay: .bounded(kept.firstDelay),
                factor: kept.factor,
                longestDelay: .bounded(kept.longestDelay),
                jitter: min(max(kept.jitter, 0), 1)
            )
            if let stableAfter = kept.stableAfter { policy.stableAfter = .bounded(stableAfter) }
            return policy
        }
        plan.immediateAttempts = immediateAttempts
        plan.parameters = parameters?.value
        if let security {
            // An unknown requirement must not be dropped.
            guard let level = LinkSecurity.Level(rawValue: security) else { return nil }
            plan.security = level
        }
        return plan
    }
}

extension SessionRecord.Subscription {
    /// `nil` for a subscription that names no characteristic of a peer.
    fileprivate init?(_ planned: Session.Subscription) {
        switch planned.characteristic.selector {
        case .uuid(let uuid, let service):
            self.init(uuid: "\(uuid)", service: service.map { "\($0)" }, indications: planned.indications)
        case .handle(let handle): self.init(handle: handle, indications: planned.indications)
        case .exactly(let characteristic):
            self.init(
                handle: characteristic.valueHandle,
                characteristic: ServicesRecord.Characteristic(characteristic),
                indications: planned.indications
            )
        case .id: return nil
        }
    }

    /// `nil` if the file has an invalid UUID, or an impossible characteristic.
    fileprivate var planned: Session.Subscription? {
        // New firmware may have given its handle to another one, which is not to be taken for it.
        if let characteristic {
            return characteristic.decoded.map { Session.Subscription($0, indications: indications) }
        }
        if let handle { return Session.Subscription(.handle(handle), indications: indications) }
        guard let uuid = uuid.flatMap({ BluetoothUUID($0) }) else { return nil }
        let service = service.map { BluetoothUUID($0) }
        if case .some(nil) = service { return nil }
        return Session.Subscription(.uuid(uuid, in: service ?? nil), indications: indications)
    }
}

extension SessionRecord.Parameters {
    /// The parameters; `nil` if those in the file are impossible.
    fileprivate var value: ConnectionParameters? {
        guard shortestInterval <= longestInterval else { return nil }
        let parameters = try? ConnectionParameters(
            interval: .inSeconds(shortestInterval)...(.inSeconds(longestInterval)),
            latency: latency,
            supervisionTimeout: .inSeconds(supervisionTimeout)
        )
        guard let limits = limits?.value else { return parameters }
        return try? parameters?.limited(to: limits)
    }
}

extension SessionRecord.ParameterLimits {
    fileprivate init(_ limits: ConnectionParameters.Limits) {
        shortestInterval = limits.interval.lowerBound.seconds
        longestInterval = limits.interval.upperBound.seconds
        latency = limits.latency
        shortestTimeout = limits.supervisionTimeout.lowerBound.seconds
        longestTimeout = limits.supervisionTimeout.upperBound.seconds
        corrections = limits.corrections
    }

    /// The limits; `nil` if those in the file are impossible.
    fileprivate var value: ConnectionParameters.Limits? {
        guard shortestInterval <= longestInterval, shortestTimeout <= longestTimeout else { return nil }
        return try? ConnectionParameters.Limits(
            interval: .inSeconds(shortestInterval)...(.inSeconds(longestInterval)),
            latency: latency,
            supervisionTimeout: .inSeconds(shortestTimeout)...(.inSeconds(longestTimeout)),
            corrections: corrections
        )
    }
}

extension Duration {
    /// A number of seconds, a hundred years at most: an edited file may contain any number, and most fit no duration.
    fileprivate static func bounded(_ seconds: Double) -> Duration { .seconds(min(max(seconds, 0), 36_525 * 86_400)) }

    /// A number of seconds rounded to microseconds: 7.5 ms as a binary fraction is slightly less.
    fileprivate static func inSeconds(_ seconds: Double) -> Duration {
        .microseconds(Int64((min(max(seconds, 0), 3600) * 1e6).rounded()))
    }

    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
