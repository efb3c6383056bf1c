@testable import BLEProtocol

/// Attributes that answer discovery and reads, written from the specification and knowing nothing of the library's
/// server: what a client finds in it is the client's merit.
struct AnsweringDatabase {
    struct Entry {
        var handle: UInt16
        var type: BluetoothUUID
        var value: [UInt8]
        /// The last handle of the service that the attribute opens.
        var groupEnd: UInt16?
    }

    var entries: [Entry]
    var mtu = 23
    /// How many requests were answered.
    private(set) var requests = 0

    init(_ entries: [Entry]) { self.entries = entries }

    mutating func answer(_ request: [UInt8]) -> [UInt8] {
        requests += 1
        var reader = ByteReader(request)
        let opcode = reader.uint8() ?? 0
        let start = reader.uint16() ?? 0
        if opcode == 0x0A {
            guard let entry = entries.first(where: { $0.handle == start }) else { return error(opcode, start, 0x01) }
            return [0x0B] + entry.value.prefix(mtu - 1)
        }
        let end = reader.uint16() ?? 0
        guard start > 0, start <= end else { return error(opcode, start, 0x01) }
        let range = entries.filter { start <= $0.handle && $0.handle <= end }
        let list: [UInt8]
        switch opcode {
        case 0x04:
            list = pack(range.map { octets($0.handle) + $0.type.attOctets }) { [$0 == 4 ? 1 : 2] }
        case 0x06:
            let type = BluetoothUUID(reader.uint16() ?? 0)
            let value = Array(reader.rest())
            let found = range.filter { $0.type == type && $0.value == value }
            list = pack(found.map { octets($0.handle) + octets($0.groupEnd ?? $0.handle) }) { _ in [] }
        case 0x08:
            let type = BluetoothUUID(littleEndian: reader.rest())
            list = pack(range.filter { $0.type == type }.map { octets($0.handle) + $0.value }) { [UInt8($0)] }
        case 0x10:
            let type = BluetoothUUID(littleEndian: reader.rest())
            let found = range.filter { $0.type == type }
            list = pack(found.map { octets($0.handle) + octets($0.groupEnd ?? $0.handle) + $0.value }) { [UInt8($0)] }
        default:
            return error(opcode, 0, 0x06)
        }
        return list.isEmpty ? error(opcode, start, 0x0A) : [opcode + 1] + list
    }

    /// As many items as fit, all of the first one's length, behind a head that depends on it.
    private func pack(_ items: [[UInt8]], head: (Int) -> [UInt8]) -> [UInt8] {
        guard let length = items.first?.count else { return [] }
        var list = head(length)
        for item in items {
            guard item.count == length, 1 + list.count + length <= mtu else { break }
            list += item
        }
        return list
    }

    private func octets(_ value: UInt16) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

    private func error(_ opcode: UInt8, _ handle: UInt16, _ code: UInt8) -> [UInt8] {
        [0x01, opcode] + octets(handle) + [code]
    }
}

extension AnsweringDatabase {
    /// Runs a procedure to its end against the attributes.
    mutating func run<P: GATTProcedure>(_ procedure: P) -> Result<P.Success, GATTFailure>? {
        var client = GATTClient(maximumMTU: 517)
        client.setMTU(mtu)
        var (_, output) = client.begin(procedure)
        while output.finished.isEmpty, let request = client.nextPDU() {
            _ = client.sent()
            output = client.received(answer(request), at: Bearer.time)
        }
        return output.finished.first?.result.map { $0.value(as: P.Success.self) }.flatMap { value in
            value.map { .success($0) } ?? .failure(.cancelled)
        }
    }

    /// A line an attribute: handle, type, value in hex; of a service also where it ends.
    init(_ text: String) {
        entries = text.split(separator: "\n").map { line in
            let fields = line.split(separator: " ")
            return Entry(
                handle: UInt16(fields[0], radix: 16) ?? 0,
                type: BluetoothUUID(String(fields[1])) ?? BluetoothUUID(0),
                value: fields.count > 2 && fields[2] != "-" ? pdu(String(fields[2])) : [],
                groupEnd: fields.count > 3 ? UInt16(fields[3], radix: 16) : nil
            )
        }
    }
}
