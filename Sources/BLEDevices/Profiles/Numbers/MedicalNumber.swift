/// A decimal number of a medical device: a mantissa and a power of ten, or one of five special values.
///
/// The 16-bit form has 12 bits of mantissa and 4 of exponent, the 32-bit form 24 and 8
/// (IEEE 11073-20601, SFLOAT-Type and FLOAT-Type).
public struct MedicalNumber: Hashable, Sendable {
    /// A special value in place of a number.
    public enum Special: Hashable, Sendable {
        /// The result is not a number: a measurement that failed, or a field that does not apply.
        case notANumber
        /// The result can't be represented at this resolution.
        case notAtThisResolution
        /// The result is above the range.
        case positiveInfinity
        /// The result is below the range.
        case negativeInfinity
        /// Reserved for future use.
        case reserved
    }

    /// The special value; `nil` for a number.
    public let special: Special?

    /// The digits of the number; 0 for a special value.
    public let mantissa: Int

    /// The exponent of the power of ten to multiply the digits by.
    public let exponent: Int

    /// The number: `nan` for the special values not a number, not at this resolution and reserved; infinite for the
    /// infinities.
    public var value: Double {
        switch special {
        case nil:
            // More powers of ten than any `Double` has.
            let power = (0..<min(exponent.magnitude, 400)).reduce(1.0) { power, _ in power * 10 }
            return exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
        case .positiveInfinity: return .infinity
        case .negativeInfinity: return -.infinity
        case .notANumber, .notAtThisResolution, .reserved: return .nan
        }
    }

    /// Creates a number from its digits and exponent.
    public init(mantissa: Int, exponent: Int) {
        (special, self.mantissa, self.exponent) = (nil, mantissa, exponent)
    }

    /// Creates a special value.
    public init(_ special: Special) { (self.special, mantissa, exponent) = (special, 0, 0) }

    /// Creates a number, rounded to the given number of decimals.
    ///
    /// A value that is not finite, or then has more than 18 digits, becomes the corresponding special value.
    public init(_ value: Double, decimals: Int) {
        let scaled = (0..<min(decimals.magnitude, 400)).reduce(value) { value, _ in
            decimals < 0 ? value / 10 : value * 10
        }.rounded()
        switch scaled {
        case _ where scaled.isNaN: self.init(.notANumber)
        case 1e18...: self.init(.positiveInfinity)
        case ...(-1e18): self.init(.negativeInfinity)
        default: self.init(mantissa: Int(scaled), exponent: -decimals)
        }
    }
}

extension MedicalNumber: CustomStringConvertible {
    /// The value, or the name of the special value: `36.6`, `not a number`.
    public var description: String {
        switch special {
        case nil: "\(value)"
        case .notANumber: "not a number"
        case .notAtThisResolution: "not at this resolution"
        case .positiveInfinity: "above the range"
        case .negativeInfinity: "below the range"
        case .reserved: "reserved"
        }
    }
}

extension MedicalNumber {
    /// The layout of the bits of a format.
    struct Form {
        let mantissaBits: Int
        let exponentBits: Int

        static let short = Form(mantissaBits: 12, exponentBits: 4)
        static let long = Form(mantissaBits: 24, exponentBits: 8)

        /// The largest mantissa that is not a special value.
        var greatest: Int { 1 << (mantissaBits - 1) - 3 }

        /// The mantissas of the special values, with the exponent 0.
        var specials: [(Int, Special)] {
            let middle = 1 << (mantissaBits - 1)
            return [
                (middle - 1, .notANumber), (middle, .notAtThisResolution), (middle - 2, .positiveInfinity),
                (middle + 2, .negativeInfinity), (middle + 1, .reserved),
            ]
        }
    }

    init(bits: UInt32, _ form: Form) {
        let mantissa = Int(bits) & (1 << form.mantissaBits - 1)
        let exponent = Int(bits) >> form.mantissaBits & (1 << form.exponentBits - 1)
        if exponent == 0, let special = form.specials.first(where: { $0.0 == mantissa })?.1 {
            self.init(special)
        } else {
            self.init(
                mantissa: Self.signed(mantissa, bits: form.mantissaBits),
                exponent: Self.signed(exponent, bits: form.exponentBits)
            )
        }
    }

    /// The bits of the number; `nil` if it does not fit in the format.
    func bits(_ form: Form) -> UInt32? {
        if let special { return form.specials.first { $0.1 == special }.map { UInt32($0.0) } }
        let exponents = -(1 << (form.exponentBits - 1))..<(1 << (form.exponentBits - 1))
        guard mantissa.magnitude <= form.greatest, exponents.contains(exponent) else { return nil }
        let parts = (mantissa & (1 << form.mantissaBits - 1), exponent & (1 << form.exponentBits - 1))
        return UInt32(parts.0 | parts.1 << form.mantissaBits)
    }

    private static func signed(_ value: Int, bits: Int) -> Int {
        value >> (bits - 1) & 1 == 0 ? value : value - 1 << bits
    }
}
