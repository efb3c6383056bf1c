import BLERadio

extension CommandContext {
    /// Begins a phase, which progress reports show and errors name.
    ///
    /// - Parameters:
    ///   - phase: its name, in a word or two: `upload`, `verify`.
    ///   - total: how much there is to do, in octets or whatever is counted; `nil` if nothing is counted.
    ///   - completed: how much of that is done already.
    public func begin(_ phase: String, total: Int? = nil, completed: Int = 0) {
        scope.listen()
        let now = timeline.now
        scope.begin(phase, total.map { _ in ProgressMeter(start: now, completed: completed) })
        report(CommandProgress(phase: phase, completed: total == nil ? nil : completed, total: total))
    }

    /// Reports how much of the phase is done, with the rate of the last few seconds.
    ///
    /// - Parameters:
    ///   - completed: how much is done, in the unit of ``begin(_:total:completed:)``.
    ///   - total: how much there is to do; `nil` if that is not known.
    public func progress(_ completed: Int, of total: Int? = nil) {
        let rate = scope.rate(at: timeline.now, completed: completed)
        report(CommandProgress(phase: scope.phase, completed: completed, total: total, rate: rate))
    }

    /// Reports progress in the command's own words and numbers. ``CommandQueue/contents`` and ``CommandQueue/progress``
    /// show it.
    public func report(_ progress: CommandProgress) { work.report(progress) }
}

/// Measures the rate of the last few seconds.
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
