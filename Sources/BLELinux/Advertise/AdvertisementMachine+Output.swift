internal import BLEProtocol

extension AdvertisementMachine {
    /// After how long it is tried again after a second loss, or a failure for a temporary reason.
    static let pause = Duration.seconds(1)
    /// The number of losses or failures in a row after which it gives up.
    static let patience = 8
    /// The same, where the kernel is busy: another program's command may wait until a peer is connected, for which
    /// Linux 6.12 takes 20 s if nobody has set another time.
    static let busyPatience = 30
    /// How long it must be on air before earlier losses are forgotten, unless a central comes sooner.
    static let calm = Duration.seconds(30)

    /// Why it is over.
    enum Failure: Hashable {
        case management(ManagementFailure)
        case unfit(AdvertisingFault)
        case noFreeInstance(of: UInt8)
        /// It was put back this many times, and was removed again immediately.
        case takenAway(times: Int)
    }

    /// What the driver is to do.
    struct Output: Equatable {
        enum Command: Equatable {
            case readFeatures
            /// Takes the first of these numbers that no other program of this library has.
            case claim([UInt8])
            case add(UInt8, AdvertisingPayload)
            /// The same in place of one of the other form, which is removed first: a controller makes no legacy
            /// advertisement of one that has more than 31 octets, and the kernel only disables that. Source: Core
            /// Specification, Vol 4, Part E, 7.8.53; kernel, `net/bluetooth/hci_sync.c`,
            /// `hci_setup_ext_adv_instance_sync`.
            case replace(UInt8, AdvertisingPayload)
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
