/// Gives the packets of a recording the times of a clock that nobody sets.
///
/// A machine without a clock of its own begins years too early, and sets its clock once it has asked for the time; one
/// whose clock is wrong may set it back. Otherwise a replay would wait for those years.
struct RecordedClock {
    /// More than this passes between two packets only if the clock is set. In a shorter time, there may have been
    /// nothing to hear.
    private static let longest = Duration.seconds(365 * 86_400)
    /// A packet is no further back than this unless the clock is set. What is received has the kernel's time, and may
    /// be read, and recorded, after what was sent later.
    private static let furthestBack = Duration.seconds(-60)

    private var last: Duration?
    /// By how much the clock was set so far.
    private var difference = Duration.zero

    /// The time of the next packet in the file.
    ///
    /// - Parameter recorded: as it is in the file.
    mutating func time(_ recorded: Duration) -> Duration {
        if let last {
            let step = recorded - last
            if step > Self.longest || step < Self.furthestBack { difference += step }
        }
        last = recorded
        return recorded - difference
    }
}
