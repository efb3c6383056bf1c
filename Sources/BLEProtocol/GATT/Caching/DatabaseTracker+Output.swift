extension DatabaseTracker {
    /// A request that has to be made, in the given order.
    package struct Request: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// Read the Database Hash by its type, wherever it is.
            case readHash
            /// Ask for the primary services, as many as one answer holds.
            case probe
            /// Discover everything.
            case discover
            /// Write ``DatabaseTracker/features`` to Client Supported Features; what comes of it doesn't matter.
            case enableFeatures(handle: UInt16)
            /// Have Service Changed indicated; what comes of it doesn't matter.
            case subscribe(Characteristic)
            /// Ask nothing, and call ``DatabaseTracker/waited(_:)`` after this time.
            case wait(Duration)
        }

        package var number: Int
        package var kind: Kind
    }

    /// What is to be done; each part stands by itself.
    package struct Output: Hashable, Sendable {
        /// Handles that must not be used any more before the database is known again. Comes before all else.
        package var stale: ClosedRange<UInt16>?
        /// Searches whose results are not wanted any more, and waits that need not end.
        package var withdrawn: [Int] = []
        package var requests: [Request] = []
        /// The database is known now.
        package var known: Known?
        /// It can't be known: the search failed.
        package var failure: GATTFailure?
        package var memory: Memory?

        package init() {}
    }

    /// A database that may be used.
    package struct Known: Hashable, Sendable {
        package enum News: Hashable, Sendable {
            /// Nothing was known before.
            case first
            /// The doubt was for nothing: all is as it was.
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

    /// What is to be kept for the next link.
    package enum Memory: Hashable, Sendable {
        case store(RememberedDatabase)
        case forget
    }
}
