import BLEProtocol
import BLERadio

extension ConnectMachine {
    /// What to do, in independent lanes; carried out in the order of the declarations here.
    struct Output: Equatable {
        /// A number, and what reports with it.
        struct Begin: Equatable {
            let number: Int
            let step: Step
        }

        /// A caller that no longer waits.
        struct Answer: Equatable {
            let waiter: Waiter.ID
            let outcome: Outcome
        }

        /// The answer to a waiting caller.
        enum Outcome: Equatable {
            /// The link is up, and the caller has a share in it.
            case linked
            /// Its time has expired in this step; this many connections were never established meanwhile.
            case timedOut(in: Step?, failures: Int)
            /// The last reported failure.
            case failed
        }

        enum Alarm: Equatable {
            case set(Duration)
            case cancel
        }

        /// Attempts begin: reported to the watch of the adapter's reception.
        var tries = false
        /// Withdraw the step in progress.
        var stops = false
        /// Leave the radio to others.
        var leavesTurn = false
        /// When to check the waiting callers next.
        var alarm: Alarm?
        /// Attempts have ended; whether there is a link.
        var ends: Bool?
        /// The states to report to watchers of the connection.
        var tells: Peripheral.ConnectionState?
        var answers: [Answer] = []
        /// The step to begin.
        var begins: Begin?

        mutating func tell(_ state: Peripheral.ConnectionState) { tells = state }

        /// Whether there is nothing to do.
        var isEmpty: Bool { self == Output() }
    }

    /// Why there is no link, as far as it decides what follows; waiting callers get the error itself.
    struct Failure: Equatable {
        var pace: ConnectPace.Failure
        /// The adapter can't be used, and may yet return.
        var isOfAdapter = false
        var reason: DisconnectReason?
    }
}
