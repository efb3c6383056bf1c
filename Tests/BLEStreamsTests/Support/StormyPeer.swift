import BLEProtocol
import Synchronization

/// What a peer answers that says that its services have changed whenever its descriptors are written.
///
/// It has Service Changed at 3 (descriptor 4), perhaps the Database Hash at 6, and A003, which is read and notifies, at
/// 9 (descriptor 10). Where it moves, a write to that puts another characteristic in its place, and A003 is at 11 from
/// then on (descriptor 12), with another hash.
final class StormyPeer: Sendable {
    enum Hash: Sendable {
        case none
        case same
        case alwaysAnother
    }

    private let hash: Hash
    /// The descriptors whose writing is answered with Service Changed behind the response.
    private let touchy: [UInt8]
    private let moves: Bool
    private let reads = Mutex<UInt8>(0)
    private let moved = Mutex(false)

    init(_ hash: Hash, touchy: [UInt8] = [4], moves: Bool = false) {
        self.hash = hash
        self.touchy = touchy
        self.moves = moves
    }

    func answers(to request: [UInt8]) -> ScriptedLink.Answers {
        let isMove = moves && request[0] == 0x12 && request[1] == 9
        let hasMoved = moved.withLock { moved in
            if isMove { moved = true }
            return moved
        }
        let isTouched = isMove || request[0] == 0x12 && touchy.contains(request[1])
        var all: ScriptedLink.Answers = []
        // Once it has moved, it indicates before it answers.
        let delay = Duration.milliseconds(hasMoved ? 3 : 1)
        if let answer = self.answer(to: request, hasMoved) { all.append((delay, answer)) }
        if isTouched { all.append((.milliseconds(2), [0x1D, 3, 0, 1, 0, 0xFF, 0xFF])) }
        return all
    }

    private func answer(to request: [UInt8], _ hasMoved: Bool) -> [UInt8]? {
        let last: UInt8 = hasMoved ? 12 : 10
        let start = request.count > 2 ? UInt16(request[1]) | UInt16(request[2]) << 8 : 0
        let type = request.count > 6 ? UInt16(request[5]) | UInt16(request[6]) << 8 : 0
        switch request[0] {
        case 0x02: return [0x03, 0x05, 0x02]
        case 0x04 where start <= 4: return [0x05, 1, 4, 0, 0x02, 0x29]
        case 0x04 where start <= UInt16(last): return [0x05, 1, last, 0, 0x02, 0x29]
        case 0x08 where type == 0x2B2A: return hashAnswer(hasMoved) ?? [0x01, 0x08, 1, 0, 0x0A]
        case 0x08 where type == 0x2803 && start <= 2:
            let attributes: [UInt8] = [0x09, 7, 2, 0, 0x20, 3, 0, 0x05, 0x2A, 5, 0, 0x02, 6, 0, 0x2A, 0x2B]
            let other: [UInt8] = hasMoved ? [8, 0, 0x02, 9, 0, 0xFF, 0xA0] : []
            let own: [UInt8] = [last - 2, 0, 0x12, last - 1, 0, 0x03, 0xA0]
            return attributes + other + own
        case 0x0A: return [0x0B, 42]
        case 0x10 where type == 0x2800 && start <= 1:
            return [0x11, 6, 1, 0, 6, 0, 0x01, 0x18, 7, 0, last, 0, 0x00, 0xA0]
        case 0x12: return [0x13]
        case 0x1E, 0x52: return nil
        default: return [0x01, request[0], request[1], request.count > 2 ? request[2] : 0, 0x0A]
        }
    }

    private func hashAnswer(_ hasMoved: Bool) -> [UInt8]? {
        let octet: UInt8? =
            switch hash {
            case .none: nil
            case .same: hasMoved ? 0xBB : 0xAA
            case .alwaysAnother:
                reads.withLock { reads in
                    reads &+= 1
                    return reads
                }
            }
        return octet.map { [0x09, 18, 6, 0] + [UInt8](repeating: $0, count: 16) }
    }
}
