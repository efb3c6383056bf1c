public import Leases

/// How far a device is, as its owner says; retained on the broker. A device without a record waits.
public struct CampaignRecord: Hashable, Sendable, Codable {
    /// How far a device is.
    public enum Stage: String, Hashable, Sendable, Codable {
        /// The update has begun. The device may have a part of the image, or run it on trial.
        case updating
        /// It runs the image, and has confirmed it.
        case updated
        /// It runs its previous image, and nothing is on trial. It counts as a failure.
        case rolledBack
    }

    /// The epoch of the owner that wrote the record.
    public var epoch: Epoch
    /// Grows with each record of one epoch.
    public var revision: UInt32
    /// How far the device is.
    public var stage: Stage
    /// How many attempts have failed.
    public var failures: Int
    /// How much of the image the device has, in percent.
    public var percent: Int
    /// Why the last attempt failed.
    public var reason: String?
    /// The image of the campaign, by its SHA-256: one of the same name had another, perhaps. `nil`: it isn't said.
    public var image: String?

    /// Makes a record.
    public init(
        epoch: Epoch,
        revision: UInt32,
        stage: Stage,
        failures: Int = 0,
        percent: Int = 0,
        reason: String? = nil,
        image: String? = nil
    ) {
        self.epoch = epoch
        self.revision = revision
        self.stage = stage
        self.failures = failures
        self.percent = percent
        self.reason = reason
        self.image = image
    }

    /// Whether the device needs nothing more.
    public var isSettled: Bool { stage != .updating }

    /// Whether this record counts, and the other one doesn't: that of the later owner, and of one owner the later one.
    public func isNewer(than other: CampaignRecord) -> Bool { (epoch, revision) > (other.epoch, other.revision) }

    private enum CodingKeys: String, CodingKey {
        case epoch, gateway, revision, stage, failures, percent, reason, image
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let gateway = PeripheralID(try values.decode(String.self, forKey: .gateway))
        epoch = Epoch(
            number: try values.decode(UInt64.self, forKey: .epoch),
            gateway: GatewayID(rawValue: gateway?.rawValue ?? 0)
        )
        guard gateway != nil, epoch.isUsable else {
            throw DecodingError.dataCorruptedError(
                forKey: .epoch,
                in: values,
                debugDescription: "an epoch has a number from 1 and a gateway of 12 hexadecimal digits"
            )
        }
        revision = try values.decode(UInt32.self, forKey: .revision)
        stage = try values.decode(Stage.self, forKey: .stage)
        failures = min(max(try values.decodeIfPresent(Int.self, forKey: .failures) ?? 0, 0), 1000)
        percent = min(max(try values.decodeIfPresent(Int.self, forKey: .percent) ?? 0, 0), 100)
        reason = try values.decodeIfPresent(String.self, forKey: .reason).map { String($0.prefix(200)) }
        image = try values.decodeIfPresent(String.self, forKey: .image).map { String($0.prefix(64)) }
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(epoch.number, forKey: .epoch)
        try values.encode(epoch.gateway.description, forKey: .gateway)
        try values.encode(revision, forKey: .revision)
        try values.encode(stage, forKey: .stage)
        try values.encode(failures, forKey: .failures)
        try values.encode(percent, forKey: .percent)
        try values.encodeIfPresent(reason, forKey: .reason)
        try values.encodeIfPresent(image, forKey: .image)
    }
}
