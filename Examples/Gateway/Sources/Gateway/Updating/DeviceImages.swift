/// The images that a device lists, read from an answer of the Simple Management Protocol (Zephyr documentation, "SMP
/// Protocol Specification", image state): only what a rollback needs.
struct DeviceImages: Hashable {
    /// One image in a slot.
    struct Image: Hashable {
        var hash: [UInt8] = []
        var isActive = false
        var isConfirmed = false
        var isPending = false
    }

    var images: [Image]

    /// Reads the body of the answer, a CBOR map (RFC 8949); `nil` if it is no list of images.
    init?(cbor octets: some Collection<UInt8>) {
        var reader = CBORReader(octets: Array(octets))
        guard case .map(let members)? = reader.value(), case .array(let items)? = members["images"] else { return nil }
        images = items.compactMap { item in
            guard case .map(let members) = item else { return nil }
            func flag(_ name: String) -> Bool { if case .bool(let truth)? = members[name] { truth } else { false } }
            var image = Image(isActive: flag("active"), isConfirmed: flag("confirmed"), isPending: flag("pending"))
            if case .bytes(let hash)? = members["hash"] { image.hash = hash }
            return image
        }
    }
}

/// Reads CBOR, as far as devices use it for lists of images.
private struct CBORReader {
    enum Value {
        case bytes([UInt8])
        case text(String)
        case bool(Bool)
        case array([Value])
        case map([String: Value])
        case other
        case end
    }

    let octets: [UInt8]
    private var position = 0
    private var depth = 0

    init(octets: [UInt8]) { self.octets = octets }

    /// The next value; `nil` if the octets end within it, or it is nested too deeply.
    mutating func value() -> Value? {
        guard depth < 8, let first = next() else { return nil }
        depth += 1
        defer { depth -= 1 }
        let (major, minor) = (first >> 5, first & 31)
        if first == 0xFF { return .end }
        if major == 7 { return simple(minor) }
        guard let count = minor == 31 ? Int.max : argument(minor) else { return nil }
        switch major {
        case 2, 3:
            guard count <= octets.count - position else { return nil }
            defer { position += count }
            let part = Array(octets[position..<position + count])
            return major == 2 ? .bytes(part) : .text(String(decoding: part, as: UTF8.self))
        case 4: return items(count).map { .array($0) }
        case 5: return members(count)
        default: return .other
        }
    }

    private mutating func items(_ count: Int) -> [Value]? {
        var values: [Value] = []
        // Each value takes an octet at least, so the octets bound the loop.
        while values.count < count {
            guard let value = value() else { return nil }
            if case .end = value { return count == .max ? values : nil }
            values.append(value)
        }
        return values
    }

    private mutating func members(_ count: Int) -> Value? {
        guard count == .max || count <= octets.count, let items = items(count == .max ? .max : 2 * count),
            items.count.isMultiple(of: 2)
        else { return nil }
        var members: [String: Value] = [:]
        for index in stride(from: 0, to: items.count, by: 2) {
            if case .text(let key) = items[index] { members[key] = items[index + 1] }
        }
        return .map(members)
    }

    private mutating func simple(_ minor: UInt8) -> Value? {
        switch minor {
        case 20, 21: return .bool(minor == 21)
        case 25...27:
            for _ in 0..<(1 << Int(minor - 24)) where next() == nil { return nil }
            return .other
        default: return .other
        }
    }

    private mutating func argument(_ minor: UInt8) -> Int? {
        guard minor >= 24 else { return Int(minor) }
        guard minor <= 27 else { return nil }
        var number: UInt64 = 0
        for _ in 0..<(1 << Int(minor - 24)) {
            guard let octet = next() else { return nil }
            number = number << 8 | UInt64(octet)
        }
        return Int(exactly: number)
    }

    private mutating func next() -> UInt8? {
        guard position < octets.count else { return nil }
        defer { position += 1 }
        return octets[position]
    }
}
