import BLEProtocol
import Synchronization

extension FlowChannel {
    /// Begins a phase, which the progress shows.
    ///
    /// - Parameters:
    ///   - phase: what it is called.
    ///   - total: how much there is to do, in octets or whatever is counted; `nil` where nothing is counted.
    ///   - completed: how much of that is done already.
    public func begin(_ phase: String, total: Int? = nil, completed: Int = 0) {
        let now = timeline.now
        state.withLock { state in
            state.phase = phase
            state.meter = total.map { _ in ProgressMeter(start: now, completed: completed) }
        }
        context.report(CommandProgress(phase: phase, completed: total == nil ? nil : completed, total: total))
    }

    /// Tells how much of the phase is done; with `nil` for the total where that is not known.
    public func progress(_ completed: Int, of total: Int? = nil) {
        let now = timeline.now
        let (phase, rate) = state.withLock { state in
            (state.phase, state.meter?.rate(at: now, completed: completed))
        }
        context.report(CommandProgress(phase: phase, completed: completed, total: total, rate: rate ?? nil))
    }
}

/// The rate of the last seconds.
struct ProgressMeter {
    private static let span = Duration.seconds(5)

    private var marks: [(time: Duration, completed: Int)]

    init(start: Duration, completed: Int) { marks = [(start, completed)] }

    mutating func rate(at now: Duration, completed: Int) -> Double? {
        if let last = marks.last, now - last.time >= .milliseconds(250) { marks.append((now, completed)) }
        while marks.count > 2, now - marks[1].time > Self.span { marks.removeFirst() }
        guard let first = marks.first, now > first.time, completed > first.completed else { return nil }
        return Double(completed - first.completed) / ((now - first.time) / .seconds(1))
    }
}
