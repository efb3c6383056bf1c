import BLEStreams
import Leases

extension Configuration {
    /// Checks that each peripheral that is shared is there once: it has one lease, and so one label. Without leases,
    /// two labels of one peripheral have a session each.
    func checkShared() throws(ConfigurationError) {
        guard leases != nil else { return }
        var (addresses, names): ([UInt64: Int], [String: Int]) = ([:], [:])
        for (index, peripheral) in peripherals.enumerated() {
            // The leases don't know of what kind an address is.
            let bits = BluetoothAddress.candidates(for: peripheral.address ?? "").first?.rawValue
            if let former = bits.flatMap({ addresses.updateValue(index, forKey: $0) }) {
                throw Self.sharedTwice("peripherals[\(index)].address", "peripherals[\(former)]")
            }
            if let former = peripheral.name.flatMap({ names.updateValue(index, forKey: $0) }) {
                throw Self.sharedTwice("peripherals[\(index)].name", "peripherals[\(former)]")
            }
        }
    }

    private static func sharedTwice(_ field: String, _ former: String) -> ConfigurationError {
        ConfigurationError(
            field: field,
            cause: "it is that of \(former), too, and with 'leases' a peripheral has one label",
            remedy: "Write it once, with all its characteristics."
        )
    }
}

extension Configuration.Sharing {
    /// Reads the section `leases`.
    init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        self.init()
        if let text = try fields.optionalString("gateway") {
            guard text.utf8.count == 12, let bits = UInt64(text, radix: 16), bits > 0 else {
                throw ConfigurationError(
                    field: fields.name("gateway"),
                    cause: "'\(text)' is not an identifier",
                    remedy: "Write 12 hexadecimal digits that no other gateway has, or leave the field out."
                )
            }
            gateway = GatewayID(rawValue: bits)
        }
        prefix = try fields.topic("prefix") ?? prefix
        try readStops(&fields)
        try readHandover(&fields)
        let names = fields.name("")
        try check(String(names.dropLast()))
    }

    /// The times by which a dead gateway's peripherals are taken over.
    private mutating func readStops(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        terms.confirmation = try fields.milliseconds("confirmationSeconds", 0.5...600, terms.confirmation)
        terms.pulse = try fields.milliseconds("pulseSeconds", 0.1...60, terms.pulse)
        terms.parting = try fields.milliseconds("partingSeconds", 0...60, terms.parting)
        terms.lease = try fields.milliseconds("leaseSeconds", 1...86_400, terms.lease)
        terms.renewal = try fields.milliseconds("renewalSeconds", 0.5...43_200, terms.renewal)
        terms.trustsWills = try fields.bool("trustsWills", default: terms.trustsWills)
    }

    /// The times and bounds by which better reception takes over.
    private mutating func readHandover(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        terms.silence = try fields.milliseconds("silenceSeconds", 1...86_400, terms.silence)
        terms.forgetting = try fields.milliseconds("forgettingSeconds", 1...86_400, terms.forgetting)
        terms.hysteresis = try fields.whole("hysteresis", in: 1...100, default: terms.hysteresis)
        terms.dwell = try fields.milliseconds("dwellSeconds", 0...86_400, terms.dwell)
        terms.tenure = try fields.milliseconds("tenureSeconds", 0...86_400, terms.tenure)
        terms.courtesy = try fields.milliseconds("courtesySeconds", 0...600, terms.courtesy)
        terms.patience = try fields.milliseconds("patienceSeconds", 1...86_400, terms.patience)
        terms.setback = try fields.milliseconds("setbackSeconds", 0...86_400, terms.setback)
    }

    private func check(_ section: String) throws(ConfigurationError) {
        func require(_ isSo: Bool, _ field: String, _ cause: String, _ remedy: String) throws(ConfigurationError) {
            if !isSo { throw ConfigurationError(field: "\(section).\(field)", cause: cause, remedy: remedy) }
        }
        try require(
            terms.pulse * 2 + terms.parting <= terms.confirmation,
            "pulseSeconds",
            "two pulses and 'partingSeconds' are longer than 'confirmationSeconds'",
            "Write less, or more for 'confirmationSeconds'."
        )
        try require(
            terms.renewal * 2 + terms.confirmation <= terms.lease,
            "renewalSeconds",
            "two renewals and 'confirmationSeconds' are longer than 'leaseSeconds'",
            "Write less, or more for 'leaseSeconds'."
        )
        try require(
            terms.silence <= terms.forgetting,
            "forgettingSeconds",
            "it is shorter than 'silenceSeconds'",
            "Write at least as much."
        )
    }
}

extension ConfigurationFields {
    fileprivate mutating func milliseconds(
        _ field: String,
        _ range: ClosedRange<Double>,
        _ standard: Milliseconds
    ) throws(ConfigurationError) -> Milliseconds {
        Milliseconds((try number(field, in: range, default: Double(standard) / 1000) * 1000).rounded())
    }
}

extension Configuration.Campaigns {
    /// Reads the section `campaigns`.
    init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        self.init(images: try fields.string("images", "Write the path of a folder with images."))
        concurrent = try fields.whole("concurrent", in: 1...100, default: concurrent)
        pause = .milliseconds(try fields.milliseconds("pauseSeconds", 0.1...86_400, 30_000))
    }
}
