extension AdvertisementMachine {
    /// What the driver is to do.
    struct Output: Equatable {
        enum Command: Equatable {
            case readFeatures
            /// Takes the first of these numbers that no other program of this library has.
            case claim([UInt8])
            case add(UInt8, AdvertisingPayload)
            case remove(UInt8)
        }
        enum Timer: Equatable {
            case start(Duration)
            case cancel
        }
        enum Report: Equatable {
            case started
            case failed(Failure)
        }
        /// The outcome of a change.
        enum Change: Equatable {
            /// It is on air, or will be as soon as the advertisement is.
            case made
            /// The kernel refuses it: what was on air before is put back.
            case refused(ManagementFailure)
        }

        var command: Command?
        var timer: Timer?
        var report: Report?
        var change: Change?
    }
}
