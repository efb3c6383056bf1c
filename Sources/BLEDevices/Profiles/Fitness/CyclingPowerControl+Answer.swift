import BLEStreams

extension CyclingPowerControl {
    /// What a power meter answers beside the outcome (Cycling Power Service 1.1, 3.7.2).
    public enum Answer: Hashable, Sendable {
        /// Where the meter can be, without reserved places.
        case locations([SensorLocation])
        /// The length of the crank in millimetres.
        case crankLength(Double)
        /// The length of the chain in millimetres.
        case chainLength(Int)
        /// The weight of the chain in grams.
        case chainWeight(Int)
        /// The span in millimetres.
        case spanLength(Int)
        /// The offset that is compensated: newtons, or 1/32 newton metres if the meter measures torque.
        case offset(Int)
        /// The same, with what the maker adds: a company identifier and octets.
        case enhancedOffset(Int, company: UInt16, data: [UInt8])
        /// Why the enhanced compensation has failed: 1, the crank is in the wrong position; 255, the maker's reason,
        /// with a company identifier, a count, and that many octets.
        case compensationFailure(UInt8, [UInt8])
        /// The sampling rate in hertz.
        case samplingRate(Int)
        /// When the meter was calibrated in the factory.
        case calibrationDate(DateTime)
        /// Octets of another meaning.
        case other([UInt8])
    }
}

extension CyclingPowerControl.Answer {
    /// Reads what follows the outcome; `nil` if nothing does.
    init?(
        to command: UInt8,
        _ outcome: ControlPointOutcome,
        reading reader: inout ValueReader
    ) throws(MalformedValue) {
        switch (command, outcome) {
        case (0x03, .success): self = .locations(try reader.locations())
        case (0x05, .success): self = .crankLength(Double(try reader.uint16()) / 2)
        case (0x07, .success): self = .chainLength(Int(try reader.uint16()))
        case (0x09, .success): self = .chainWeight(Int(try reader.uint16()))
        case (0x0B, .success): self = .spanLength(Int(try reader.uint16()))
        case (0x0C, .success): self = .offset(Int(try reader.int16()))
        case (0x0E, .success): self = .samplingRate(Int(try reader.uint8()))
        case (0x0F, .success): self = .calibrationDate(try reader.dateTime())
        case (0x10, .success):
            let (offset, company) = (Int(try reader.int16()), try reader.uint16())
            self = .enhancedOffset(offset, company: company, data: Array(try reader.bytes(Int(try reader.uint8()))))
        case (0x10, .failed): self = .compensationFailure(try reader.uint8(), try reader.rest())
        default:
            if reader.isAtEnd { return nil }
            self = .other(try reader.rest())
        }
    }

    func write(to writer: inout ValueWriter) throws(MalformedValue) {
        switch self {
        case .locations(let locations): writer.bytes(locations.map(\.rawValue))
        case .crankLength(let length): try writer.put(length, by: 2, as: UInt16.self, "the length of the crank")
        case .chainLength(let length): try writer.put(length, as: UInt16.self, "the length of the chain")
        case .chainWeight(let weight): try writer.put(weight, as: UInt16.self, "the weight of the chain")
        case .spanLength(let length): try writer.put(length, as: UInt16.self, "the span")
        case .offset(let offset): try writer.put(offset, as: Int16.self, "the offset")
        case .enhancedOffset(let offset, let company, let data):
            try writer.put(offset, as: Int16.self, "the offset")
            writer.uint16(company)
            try writer.put(data.count, as: UInt8.self, "the number of octets")
            writer.bytes(data)
        case .compensationFailure(let reason, let details): writer.bytes([reason] + details)
        case .samplingRate(let rate): try writer.put(rate, as: UInt8.self, "the sampling rate")
        case .calibrationDate(let date): try writer.dateTime(date)
        case .other(let octets): writer.bytes(octets)
        }
    }
}
