extension AdvertisingData {
    /// The device's name: the complete one if there is one, otherwise the shortened one.
    ///
    /// The name ends before the first NUL and before the first octet that is not UTF-8, and surrounding blanks are
    /// removed, as in BlueZ; so it may be empty.
    public var localName: String? {
        (completeLocalNameOctets ?? shortenedLocalNameOctets).map(Self.text)
    }

    /// The name with the blanks that ``localName`` lacks; `nil` if there are none around it.
    package var localNameWithBlanks: String? {
        guard let octets = (completeLocalNameOctets ?? shortenedLocalNameOctets).map(Self.valid),
            let first = octets.first, let last = octets.last, Self.isBlank(first) || Self.isBlank(last)
        else { return nil }
        return String(decoding: octets, as: UTF8.self)
    }

    /// Whether ``localName`` is the complete name.
    public var isLocalNameComplete: Bool { completeLocalNameOctets != nil }

    /// The octets of the complete name, as they were received.
    package var completeLocalNameOctets: ArraySlice<UInt8>? { first(.completeLocalName) }

    /// The octets of the shortened name, as they were received.
    package var shortenedLocalNameOctets: ArraySlice<UInt8>? { first(.shortenedLocalName) }

    /// The octets before the first NUL and before the first one that is not UTF-8.
    private static func valid(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let octets = octets.prefix { $0 != 0 }
        return String(validating: octets, as: UTF8.self) == nil ? octets.prefix(validCount(octets)) : octets
    }

    private static func text(_ octets: ArraySlice<UInt8>) -> String {
        var octets = valid(octets)
        while let first = octets.first, isBlank(first) { octets.removeFirst() }
        while let last = octets.last, isBlank(last) { octets.removeLast() }
        return String(decoding: octets, as: UTF8.self)
    }

    /// The number of octets before the first one that is not UTF-8.
    private static func validCount(_ octets: ArraySlice<UInt8>) -> Int {
        var decoder = UTF8()
        var iterator = octets.makeIterator()
        var count = 0
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { count += UTF8.width(scalar) }
        return count
    }

    /// Space, tabulator, line feed, vertical tabulator, form feed, carriage return.
    private static func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }
}
