import BLEStreams

extension RecordAccess {
    init(reading reader: inout ValueReader) throws(MalformedValue) {
        let number = try reader.uint8()
        switch number {
        case 0x01: self = .report(try Selection(reading: &reader))
        case 0x02: self = .delete(try Selection(reading: &reader))
        case 0x03:
            _ = try reader.uint8()
            self = .abort
        case 0x04: self = .requestCount(try Selection(reading: &reader))
        case 0x05:
            _ = try reader.uint8()
            self = .count(Int(try reader.uint16()))
        case 0x06:
            _ = try reader.uint8()
            self = .response(to: try reader.uint8(), Outcome(rawValue: try reader.uint8()))
        default: self = .other(number, try reader.rest())
        }
    }

    func write(to writer: inout ValueWriter) throws(MalformedValue) {
        writer.uint8(number)
        switch self {
        case .report(let records), .delete(let records), .requestCount(let records): try records.write(to: &writer)
        case .abort: writer.uint8(0)
        case .count(let count):
            writer.uint8(0)
            try writer.put(count, as: UInt16.self, "the number of records")
        case .response(let command, let outcome): writer.bytes([0, command, outcome.rawValue])
        case .other(_, let octets): writer.bytes(octets)
        }
    }
}

extension RecordAccess.Selection {
    fileprivate init(reading reader: inout ValueReader) throws(MalformedValue) {
        let number = try reader.uint8()
        switch number {
        case 0x01: self = .all
        case 0x02: self = .through(try RecordAccess.Limit(kind: try reader.uint8(), reading: &reader))
        case 0x03: self = .from(try RecordAccess.Limit(kind: try reader.uint8(), reading: &reader))
        case 0x04:
            let kind = try reader.uint8()
            let least = try RecordAccess.Limit(kind: kind, reading: &reader)
            self = .between(least, and: try RecordAccess.Limit(kind: kind, reading: &reader))
        case 0x05: self = .first
        case 0x06: self = .last
        default: self = .other(number, try reader.rest())
        }
    }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        switch self {
        case .all: writer.uint8(0x01)
        case .through(let limit):
            writer.bytes([0x02, limit.kind])
            try limit.write(to: &writer)
        case .from(let limit):
            writer.bytes([0x03, limit.kind])
            try limit.write(to: &writer)
        case .between(let least, let greatest):
            guard least.kind == greatest.kind else { throw MalformedValue("a number and a time limit no records") }
            writer.bytes([0x04, least.kind])
            try least.write(to: &writer)
            try greatest.write(to: &writer)
        case .first: writer.uint8(0x05)
        case .last: writer.uint8(0x06)
        case .other(let number, let operand): writer.bytes([number] + operand)
        }
    }
}

extension RecordAccess.Limit {
    fileprivate init(kind: UInt8, reading reader: inout ValueReader) throws(MalformedValue) {
        switch kind {
        case 1: self = .number(Int(try reader.uint16()))
        case 2: self = .time(try reader.dateTime())
        default: throw MalformedValue("\(kind) is reserved")
        }
    }

    /// The number on air of what the records are sorted by.
    fileprivate var kind: UInt8 { if case .number = self { 1 } else { 2 } }

    fileprivate func write(to writer: inout ValueWriter) throws(MalformedValue) {
        switch self {
        case .number(let number): try writer.put(number, as: UInt16.self, "the sequence number")
        case .time(let time): try writer.dateTime(time)
        }
    }
}
