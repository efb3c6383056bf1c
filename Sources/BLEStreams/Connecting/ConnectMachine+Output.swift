import BLEProtocol
import BLERadio

extension ConnectMachine {
    /// What there is to do, lane by lane; it is done in the order of the declarations here.
    struct Output: Equatable {
        /// A number, and what reports under it.
        struct Begin: Equatable {
            let number: Int
            let step: Step
        }

        /// One that waits no more.
        struct Answer: Equatable {
            let waiter: Waiter.ID
            let outcome: Outcome
        }

        /// What one is told who has waited.
        enum Outcome: Equatable {
            /// The link is up, and it has a part in it.
            case linked
            /// Its time is over; so many connections were never established meanwhile.
            case timedOut(failures: Int)
            /// The failure that was told last.
            case failed
        }

        enum Alarm: Equatable {
            case set(Duration)
            case cancel
        }

        /// It is tried from now on: whoever watches whether the adapter hears anybody wants to know.
        var tries = false
        /// What is under way is taken back.
        var stops = false
        /// The radio is left to others.
        var leavesTurn = false
        /// When those who wait are looked at next.
        var alarm: Alarm?
        /// It isn't tried any more; whether there is a link.
        var ends: Bool?
        /// What those hear who watch the connection.
        var tells: Peripheral.ConnectionState?
        var answers: [Answer] = []
        /// What is to be begun.
        var begins: Begin?

        mutating func tell(_ state: Peripheral.ConnectionState) { tells = state }

        /// Whether there is nothing to do.
        var isEmpty: Bool { self == Output() }
    }

    /// Why there is no link, as far as it decides what follows; whoever waited is told the error itself.
    struct Failure: Equatable {
        var pace: ConnectPace.Failure
        /// Another link of the peripheral's is in the way.
        var isBusy = false
        /// The adapter can't be used, and may yet return.
        var isOfAdapter = false
        var reason: DisconnectReason?
    }
}
