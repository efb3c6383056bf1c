extension DatabaseTracker {
    /// A request to make, in the given order.
    package struct Request: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// Read the Database Hash by its type, wherever it is.
            case readHash
            /// Read the primary services, as many as one answer holds.
            case probe
            /// Discover everything.
            case discover
            /// Write ``DatabaseTracker/features`` to Client Supported Features; the result doesn't matter.
            case enableFeatures(handle: UInt16)
            /// Subscribe to Service Changed; the result doesn't matter.
            case subscribe(Characteristic)
            /// Request nothing, and call ``DatabaseTracker/waited(_:)`` after this time.
            case wait(Duration)
        }

        package var number: Int
        package var kind: Kind
    }

    /// What to do; the parts are independent.
    package struct Output: Hashable, Sendable {
        /// Handles that must not be used before the database is known again. Handle this part first.
        package var stale: ClosedRange<UInt16>?
        /// Requests whose results are no longer needed, and waits that need not end.
        package var withdrawn: [Int] = []
        package var requests: [Request] = []
        /// The database is known now.
        package var known: Known?
        /// The database can't be known: the discovery failed.
        package var failure: GATTFailure?
        /// Whoever waits for the database has waited long enough: the peer says that its services change before they
        /// are known, again and again. The search goes on.
        package var isRestless = false
        /// The peer's services have changed, and it may have withheld values until this client learned of that.
        package var mayHaveWithheld = false
        package var memory: Memory?

        package init() {}
    }

    /// A database that may be used.
    package struct Known: Hashable, Sendable {
        package enum News: Hashable, Sendable {
            /// Nothing was known before.
            case first
            /// The doubt was unfounded: nothing has changed.
            case unchanged
            /// These handles may mean something else than in the database before, and nobody is subscribed to them.
            case changed(before: GATTDatabase, affected: ClosedRange<UInt16>)
        }

        package var database: GATTDatabase
        package var news: News

        package init(database: GATTDatabase, news: News) {
            self.database = database
            self.news = news
        }
    }

    /// What to remember for the next link.
    package enum Memory: Hashable, Sendable {
        case store(RememberedDatabase)
        case forget
    }
}
