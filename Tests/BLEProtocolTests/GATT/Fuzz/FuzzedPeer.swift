import FuzzedProcedures

@testable import BLEProtocol

/// A generator of the same numbers for the same seed, on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func octets(_ count: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: count, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// Mostly a small handle, so that ranges meet.
    mutating func handle() -> UInt16 {
        chance(80) ? UInt16.random(in: 0...64, using: &self) : UInt16.random(in: 0...0xFFFF, using: &self)
    }
}

extension SeededGenerator: ProcedureArguments {
    mutating func value() -> [UInt8] { octets(0...600) }
    mutating func octet() -> UInt8 { UInt8.random(in: 0...255, using: &self) }
    mutating func uint16() -> UInt16 { UInt16.random(in: 0...0xFFFF, using: &self) }
    mutating func chance() -> Bool { chance(50) }
}

/// Answers that look like a server's, are torn, or are no answers at all.
struct FuzzedPeer {
    var generator: SeededGenerator

    /// What the peer says while this request is open, or none is.
    mutating func says(after request: [UInt8]?) -> [UInt8] {
        guard let request, generator.chance(75) else { return anything() }
        var answer = answer(to: request)
        if generator.chance(20) { mutate(&answer) }
        return answer
    }

    private mutating func anything() -> [UInt8] {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: return [0x1B] + generator.octets(0...24)
        case 1: return [0x1D] + generator.octets(0...24)
        case 2: return [0x23] + list(of: 1) { [UInt8($0.handle() & 0xFF), 0, 1, 0, 7] }
        case 3: return [0x01] + generator.octets(0...6)
        default: return generator.octets(0...40)
        }
    }

    private mutating func answer(to request: [UInt8]) -> [UInt8] {
        let opcode = request.first ?? 0
        if generator.chance(15) {
            let code: UInt8 = generator.chance(50) ? 0x0A : UInt8.random(in: 0...255, using: &generator)
            return [0x01, opcode] + generator.octets(2...2) + [code]
        }
        switch opcode {
        case 0x04:
            let isShort = generator.chance(70)
            return [0x05, isShort ? 1 : 2] + list(of: 6) { $0.octetsOfHandle() + $0.octets(isShort ? 2...2 : 16...16) }
        case 0x06: return [0x07] + list(of: 5) { $0.octetsOfHandle() + $0.octetsOfHandle() }
        case 0x08:
            let length = [2, 3, 6, 8, 7, 21].randomElement(using: &generator) ?? 7
            return [0x09, UInt8(length)] + list(of: 4) { $0.octetsOfHandle() + $0.octets(length - 2...length - 2) }
        case 0x10:
            let length = [6, 20, 7].randomElement(using: &generator) ?? 6
            return [0x11, UInt8(length)]
                + list(of: 4) { $0.octetsOfHandle() + $0.octetsOfHandle() + $0.octets(length - 4...length - 4) }
        case 0x16: return [0x17] + request.dropFirst()
        default: return [opcode + 1] + generator.octets(generator.chance(50) ? 22...22 : 0...30)
        }
    }

    private mutating func list(of most: Int, _ entry: (inout SeededGenerator) -> [UInt8]) -> [UInt8] {
        (0..<Int.random(in: 0...most, using: &generator)).flatMap { _ in entry(&generator) }
    }

    private mutating func mutate(_ answer: inout [UInt8]) {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: answer.removeLast(Int.random(in: 0...answer.count, using: &generator))
        case 1: answer += generator.octets(1...4)
        default:
            guard let index = answer.indices.randomElement(using: &generator) else { return }
            answer[index] = UInt8.random(in: 0...255, using: &generator)
        }
    }
}

extension SeededGenerator {
    mutating func octetsOfHandle() -> [UInt8] {
        let handle = handle()
        return [UInt8(handle & 0xFF), UInt8(handle >> 8)]
    }
}
