import BLEProtocol
@preconcurrency import Dispatch
import Synchronization

/// The octets of a recording on their way to disk: taken immediately, written by a queue.
final class CaptureFile: Sendable {
    /// Octets in their place in the file that may yet be dropped.
    private struct Piece {
        var octets: [UInt8]
        var isSettled: Bool
        /// How many packets were missing when they came, which their records state.
        let drops: Int
    }

    private struct State {
        var pieces: [Piece] = []
        /// The number of the first of ``pieces``, counted from the beginning.
        var firstNumber = 0
        /// Settled octets that a pipe's reader has not made room for yet.
        var unwritten: ArraySlice<UInt8> = []
        /// The octets of the pieces, and those unwritten.
        var size = 0
        var isWriteDue = false
        /// Packets that there was no room for.
        var leftOut = 0
        /// Packets that were lost before they came here.
        var lost = 0
        /// Waits for room in a pipe.
        var roomSource: (any DispatchSourceWrite)?
        /// Who waits for the end of the recording.
        var ending: (@Sendable (BLEError?) -> Void)?
        var failure: BLEError?
        var isClosed = false

        /// Packets that are missing, for whatever reason.
        var missing: Int { leftOut + lost }
        var isWritten: Bool { pieces.isEmpty && unwritten.isEmpty }

        /// Drops the octets of a piece, which keeps its number.
        mutating func drop(_ index: Int) {
            size -= pieces[index].octets.count
            pieces[index].octets = []
        }
    }

    /// How many octets may wait for a slow disk.
    static let room = 16 << 20
    /// How many octets beyond the room may wait, of records that others need.
    private static let margin = 1 << 20
    /// At this number of waiting octets, they are written without delay.
    private static let haste = 64 << 10
    private static let delay = DispatchTimeInterval.milliseconds(300)

    private let output: CaptureOutput
    /// How long to wait for a pipe's reader: for it to begin, and at the end for it to take something.
    private let patience: Duration
    private let queue = DispatchQueue(label: "BLEStreams.capture")
    private let state = Mutex(State())

    init(_ path: String, patience: Duration = .seconds(10)) throws(BLEError) {
        output = try CaptureOutput(path, patience: patience)
        self.patience = patience
    }

    deinit {
        guard !state.withLock({ $0.isClosed }) else { return }
        // Nobody can settle it any more.
        state.withLock { Self.giveUpReserved(&$0) }
        writeSettled()
        state.withLock { $0.roomSource }?.cancel()
        _ = output.close()
    }

    // MARK: - Taking octets

    /// Packets that there was no room for. Each record that is added later states how many were missing by then, with
    /// those of ``lost(_:)``.
    var leftOut: Int { state.withLock { $0.leftOut } }

    /// Adds octets at the end; returns whether there was room.
    func append(_ octets: [UInt8]) -> Bool { add(octets, isSettled: true) != nil }

    /// Adds the records of a packet at the end, or counts it in ``leftOut``; returns whether there was room.
    ///
    /// - Parameter isVital: whether later records make no sense without these, which are few: there is more room.
    @discardableResult
    func append(packet octets: [UInt8], isVital: Bool = false) -> Bool {
        add(octets, isSettled: true, within: isVital ? Self.room + Self.margin : Self.room, isPacket: true) != nil
    }

    /// Adds octets at the end, even beyond the room: those of a whole file, which are in memory anyway, or a few.
    func appendWhole(_ octets: [UInt8]) { _ = add(octets, isSettled: true, within: .max) }

    /// Reserves a place at the end for octets, until ``settle(_:isKept:)`` keeps or drops them; `nil` if there is no
    /// room: a packet that comes into being nevertheless is to be counted, ``leaveOut()``.
    func reserve(_ octets: [UInt8]) -> Int? { add(octets, isSettled: false) }

    /// Counts a packet for which no place could be reserved.
    func leaveOut() { state.withLock { $0.leftOut += 1 } }

    /// Counts packets that were lost before they came here, as in the kernel: the records behind count them too.
    func lost(_ count: Int) { state.withLock { $0.lost += count } }

    func settle(_ place: Int, isKept: Bool) {
        let isAwaited = state.withLock { state in
            let index = place - state.firstNumber
            guard state.pieces.indices.contains(index) else { return false }
            if !isKept { state.drop(index) }
            state.pieces[index].isSettled = true
            return state.ending != nil
        }
        guard isAwaited else { return }
        queue.async {
            self.writeSettled()
            self.endIfWritten()
        }
    }

    /// After an error, and once the end has begun, everything is accepted and nothing is kept.
    private func add(
        _ octets: [UInt8],
        isSettled: Bool,
        within limit: Int = CaptureFile.room,
        isPacket: Bool = false
    ) -> Int? {
        let (place, wait): (Int?, DispatchTimeInterval?) = state.withLock { state in
            guard !state.isClosed, state.ending == nil, state.failure == nil else { return (-1, nil) }
            guard state.size + octets.count <= limit else {
                if isPacket { state.leftOut += 1 }
                return (nil, nil)
            }
            var piece = Piece(octets: octets, isSettled: isSettled, drops: state.missing)
            if piece.drops > 0 { BTSnoopRecord.setDrops(UInt32(clamping: piece.drops), in: &piece.octets) }
            state.pieces.append(piece)
            let before = state.size
            state.size += octets.count
            let place = state.firstNumber + state.pieces.count - 1
            let isHasty = before < Self.haste && state.size >= Self.haste
            guard isHasty || !state.isWriteDue else { return (place, nil) }
            state.isWriteDue = true
            return (place, isHasty ? .nanoseconds(0) : Self.delay)
        }
        if let wait { queue.asyncAfter(deadline: .now() + wait) { self.writeSettled() } }
        return place
    }

    // MARK: - Writing, on the queue

    /// Writes everything up to the first piece that isn't settled, as far as there is room for it.
    private func writeSettled() {
        let octets = state.withLock { state in
            let settled = state.pieces.prefix(while: \.isSettled)
            for piece in settled { state.unwritten += piece.octets }
            state.pieces.removeFirst(settled.count)
            state.firstNumber += settled.count
            state.isWriteDue = false
            return state.unwritten
        }
        let (count, failure) = output.write(octets)
        let isFull = state.withLock { state in
            state.unwritten.removeFirst(count)
            // Else it keeps its memory.
            if state.unwritten.isEmpty { state.unwritten = [] }
            state.size -= count
            if let failure { Self.fail(failure, &state) }
            return !state.unwritten.isEmpty && state.roomSource == nil
        }
        if isFull { waitForRoom() }
    }

    /// What comes behind the first failure isn't kept.
    private static func fail(_ failure: BLEError, _ state: inout State) {
        if state.failure == nil { state.failure = failure }
        state.pieces = []
        state.unwritten = []
        state.size = 0
    }

    private func waitForRoom() {
        let source: any DispatchSourceWrite
        do throws(BLEError) {
            source = try output.roomSource(on: queue)
        } catch {
            return state.withLock { Self.fail(error, &$0) }
        }
        source.setEventHandler { [weak self] in
            guard let self else { return }
            state.withLock { $0.roomSource.take() }?.cancel()
            writeSettled()
            endIfWritten()
        }
        state.withLock { $0.roomSource = source }
        source.activate()
    }

    // MARK: - The end

    func close() async throws {
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<BLEError?, Never>) in
            closeSoon { continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    /// Writes the rest and closes the file, in the background; then reports the error, if there was one, or else that
    /// packets were left out. It waits for reserved places to be settled: what follows them is in the file already.
    func closeSoon(_ done: @escaping @Sendable (BLEError?) -> Void) {
        queue.async {
            let isFirst = self.state.withLock { state in
                guard !state.isClosed, state.ending == nil else { return false }
                state.ending = done
                return true
            }
            guard isFirst else { return done(nil) }
            self.writeSettled()
            self.endIfWritten()
            self.limitEnd()
        }
    }

    /// Ends the recording once everything is written, or nothing more can be.
    private func endIfWritten() {
        let (ending, failure, leftOut) = state.withLock { state -> ((@Sendable (BLEError?) -> Void)?, BLEError?, Int) in
            guard state.isWritten, let ending = state.ending.take() else { return (nil, nil, 0) }
            state.isClosed = true
            return (ending, state.failure, state.leftOut)
        }
        guard let ending else { return }
        let late = output.close()
        ending(failure ?? late ?? (leftOut > 0 ? output.tooSlow(for: leftOut) : nil))
    }

    /// Gives up what has not gone on for as long as the patience: a pipe whose reader takes nothing more, or the places
    /// that nobody settles.
    private func limitEnd() {
        let rest: Int? = state.withLock { $0.ending == nil || $0.isWritten ? nil : $0.size }
        guard let rest else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(patience / .milliseconds(1)))) {
            let source = self.state.withLock { state -> (any DispatchSourceWrite)? in
                guard state.ending != nil, state.size == rest else { return nil }
                if state.unwritten.isEmpty {
                    Self.giveUpReserved(&state)
                    return nil
                }
                Self.fail(self.output.stuck(for: self.patience), &state)
                return state.roomSource.take()
            }
            source?.cancel()
            self.writeSettled()
            self.endIfWritten()
            self.limitEnd()
        }
    }

    /// Leaves out the packets of which nobody says whether they were sent: the records behind them count them.
    private static func giveUpReserved(_ state: inout State) {
        var missing = 0
        for index in state.pieces.indices {
            if !state.pieces[index].isSettled {
                state.drop(index)
                state.pieces[index].isSettled = true
                missing += 1
            } else if missing > 0 {
                let drops = UInt32(clamping: state.pieces[index].drops + missing)
                BTSnoopRecord.setDrops(drops, in: &state.pieces[index].octets)
            }
        }
        state.leftOut += missing
    }
}
