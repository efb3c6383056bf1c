/// A device with MCUboot's two slots: a part of the image, a mark for a trial, the trial, the confirmation.
struct SimulatedDevice {
    /// How many parts of the image it has.
    var parts = 0
    /// Which gateways have sent it parts.
    var senders: Set<Int> = []
    /// Whether it tries the image at its next start.
    var isPending = false
    /// Whether it runs the image.
    var runsNew = false
    /// Whether it has confirmed the image it runs.
    var isConfirmed = true
    /// Whether the image doesn't work on it.
    let isBad: Bool

    /// It starts anew.
    mutating func restart() {
        if isPending {
            (isPending, runsNew, isConfirmed) = (false, true, false)
        } else if !isConfirmed {
            (runsNew, isConfirmed) = (false, true)
        }
    }

    /// Whether it runs the image for good.
    var isUpdated: Bool { runsNew && isConfirmed }
    /// Whether it runs the previous image, and will at its next start.
    var isOld: Bool { !runsNew && isConfirmed && !isPending }
}
