import BLEProtocol
@preconcurrency import Dispatch
import Synchronization

/// The octets of a recording on their way to disk: taken immediately, written by a queue.
final class CaptureFile: Sendable {
    /// Octets in their place in the file that may yet be dropped.
    private struct Piece {
        var octets: [UInt8]
        var isSettled: Bool
    }

    private struct State {
        var pieces: [Piece] = []
        /// The number of the first of ``pieces``, counted from the beginning.
        var firstNumber = 0
        var size = 0
        var isWriteDue = false
        var failure: BLEError?
        var isClosed = false
    }

    /// How many octets may wait for a slow disk.
    static let room = 16 << 20
    /// At this number of waiting octets, they are written without delay.
    private static let haste = 64 << 10
    private static let delay = DispatchTimeInterval.milliseconds(300)

    private let output: CaptureOutput
    private let queue = DispatchQueue(label: "BLEStreams.capture")
    private let state = Mutex(State())

    init(_ path: String) throws(BLEError) { output = try CaptureOutput(path) }

    deinit {
        guard !state.withLock({ $0.isClosed }) else { return }
        writeSettled()
        _ = output.close()
    }

    // MARK: - Taking octets

    /// Adds octets at the end; returns whether there was room.
    @discardableResult
    func append(_ octets: [UInt8]) -> Bool { add(octets, isSettled: true) != nil }

    /// Reserves a place at the end for octets, until ``settle(_:isKept:)`` keeps or drops them; `nil` if there is no
    /// room.
    func reserve(_ octets: [UInt8]) -> Int? { add(octets, isSettled: false) }

    func settle(_ place: Int, isKept: Bool) {
        state.withLock { state in
            let index = place - state.firstNumber
            guard state.pieces.indices.contains(index) else { return }
            if !isKept {
                state.size -= state.pieces[index].octets.count
                state.pieces[index].octets = []
            }
            state.pieces[index].isSettled = true
        }
    }

    /// After an error or the end, everything is accepted and nothing is kept.
    private func add(_ octets: [UInt8], isSettled: Bool) -> Int? {
        let (place, wait): (Int?, DispatchTimeInterval?) = state.withLock { state in
            guard !state.isClosed, state.failure == nil else { return (-1, nil) }
            guard state.size + octets.count <= Self.room else { return (nil, nil) }
            state.pieces.append(Piece(octets: octets, isSettled: isSettled))
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

    /// Writes everything up to the first piece that isn't settled.
    private func writeSettled() {
        let octets = state.withLock { state in
            let settled = state.pieces.prefix(while: \.isSettled)
            let octets = settled.flatMap(\.octets)
            state.pieces.removeFirst(settled.count)
            state.firstNumber += settled.count
            state.size -= octets.count
            state.isWriteDue = false
            return octets
        }
        guard let failure = output.write(octets) else { return }
        state.withLock { state in
            if state.failure == nil { state.failure = failure }
            state.pieces = []
            state.size = 0
        }
    }

    // MARK: - The end

    func close() async throws {
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<BLEError?, Never>) in
            closeSoon { continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    /// Writes the rest and closes the file, in the background; then reports the error, if there was one.
    func closeSoon(_ done: @escaping @Sendable (BLEError?) -> Void) {
        queue.async {
            self.writeSettled()
            let (isFirst, failure) = self.state.withLock { state in
                defer { state.isClosed = true }
                return (!state.isClosed, state.failure)
            }
            guard isFirst else { return done(nil) }
            let late = self.output.close()
            done(failure ?? late)
        }
    }
}
