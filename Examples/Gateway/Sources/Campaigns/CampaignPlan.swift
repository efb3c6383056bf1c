public import Leases

/// An image for many devices, and in which order and with what care they get it.
public struct CampaignPlan: Hashable, Sendable, Codable {
    /// The most devices of a campaign.
    public static let deviceLimit = 100_000

    /// The SHA-256 of the image's file, as 64 hexadecimal digits.
    public var image: String
    /// The devices, in the order in which they get it.
    public var devices: [PeripheralID]
    /// How many are the canaries: the first wave, in which no device may fail.
    public var canaries: Int
    /// How many devices each later wave has.
    public var wave: Int
    /// How many percent of all earlier waves must be settled before a wave begins.
    public var settled: Int
    /// How many devices may fail; with one more, the campaign stops.
    public var failures: Int
    /// How often a device is tried before it counts as failed.
    public var attempts: Int
    /// Whether an operator has stopped it: no further device begins, and what has begun is rolled back or finished.
    public var isStopped: Bool

    /// Makes a plan.
    public init(
        image: String,
        devices: [PeripheralID],
        canaries: Int = 1,
        wave: Int = 10,
        settled: Int = 100,
        failures: Int = 0,
        attempts: Int = 3,
        isStopped: Bool = false
    ) {
        self.image = image
        self.devices = devices
        self.canaries = canaries
        self.wave = wave
        self.settled = settled
        self.failures = failures
        self.attempts = attempts
        self.isStopped = isStopped
    }

    /// Why no gateway can carry it out: `'wave' is not a number from 1 to 100000`; `nil`: it can.
    public var fault: String? {
        if image.utf8.count != 64 || !image.allSatisfy(\.isHexDigit) {
            return "'image' is not a SHA-256 of 64 hexadecimal digits"
        }
        if devices.isEmpty { return "'devices' has no entry" }
        if devices.count > Self.deviceLimit { return "'devices' has more than \(Self.deviceLimit) entries" }
        if Set(devices).count < devices.count { return "'devices' has a device twice" }
        let numbers = [
            ("canaries", canaries, 1...devices.count), ("wave", wave, 1...Self.deviceLimit),
            ("settled", settled, 1...100), ("failures", failures, 0...Self.deviceLimit),
            ("attempts", attempts, 1...100),
        ]
        let wrong = numbers.first { !$0.2.contains($0.1) }
        return wrong.map { "'\($0.0)' is not a number from \($0.2.lowerBound) to \($0.2.upperBound)" }
    }

    /// Whether a gateway can carry it out.
    public var isUsable: Bool { fault == nil }

    /// Whether it differs from another plan in nothing but what an operator may change: the devices, the waves and the
    /// image of a campaign stay.
    public func isSameCampaign(as other: CampaignPlan) -> Bool {
        image == other.image && devices == other.devices && canaries == other.canaries && wave == other.wave
    }

    /// The wave of the device at this place in the list: 0 is that of the canaries.
    public func wave(at place: Int) -> Int { place < canaries ? 0 : 1 + (place - canaries) / max(1, wave) }

    /// How many devices the waves before this one have.
    public func devices(before wave: Int) -> Int {
        wave == 0 ? 0 : min(devices.count, canaries + (wave - 1) * max(1, self.wave))
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case image, devices, canaries, wave, settled, failures, attempts
        case isStopped = "stopped"
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        // Somebody who misspells 'stopped' believes that the campaign stops.
        let names = try decoder.container(keyedBy: FieldName.self).allKeys.map(\.stringValue)
        if let stranger = names.filter({ CodingKeys(stringValue: $0) == nil }).min() {
            let known = CodingKeys.allCases.map(\.stringValue).joined(separator: ", ")
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: [],
                    debugDescription: "there is no field '\(stranger.shown(limit: 40))'; the fields are \(known)"
                )
            )
        }
        self.init(
            image: try values.decode(String.self, forKey: .image).lowercased(),
            devices: try values.decode([String].self, forKey: .devices).map { text in
                guard let id = PeripheralID(text) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .devices,
                        in: values,
                        debugDescription: "a device has 12 hexadecimal digits"
                    )
                }
                return id
            },
            canaries: try values.decodeIfPresent(Int.self, forKey: .canaries) ?? 1,
            wave: try values.decodeIfPresent(Int.self, forKey: .wave) ?? 10,
            settled: try values.decodeIfPresent(Int.self, forKey: .settled) ?? 100,
            failures: try values.decodeIfPresent(Int.self, forKey: .failures) ?? 0,
            attempts: try values.decodeIfPresent(Int.self, forKey: .attempts) ?? 3,
            isStopped: try values.decodeIfPresent(Bool.self, forKey: .isStopped) ?? false
        )
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(image, forKey: .image)
        try values.encode(devices.map(\.description), forKey: .devices)
        try values.encode(canaries, forKey: .canaries)
        try values.encode(wave, forKey: .wave)
        try values.encode(settled, forKey: .settled)
        try values.encode(failures, forKey: .failures)
        try values.encode(attempts, forKey: .attempts)
        try values.encode(isStopped, forKey: .isStopped)
    }
}

/// The name of a field, whether a plan has it or not.
private struct FieldName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension PeripheralID {
    /// Reads 12 hexadecimal digits, with or without colons between the octets; `nil` for anything else.
    public init?(_ text: String) {
        let digits = text.filter { $0 != ":" }
        guard digits.utf8.count == 12, let bits = UInt64(digits, radix: 16) else { return nil }
        self.init(rawValue: bits)
    }
}
