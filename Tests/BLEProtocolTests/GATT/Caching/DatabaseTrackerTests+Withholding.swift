import Testing

@testable import BLEProtocol

/// A peer with robust caching, which sends nothing until the client has learned of a change.
extension DatabaseTrackerTests {
    /// A tracker that uses a remembered database.
    private func trusting() throws -> Tracker {
        var tracker = Tracker(remembered: RememberedDatabase(database: Self.database, hash: Self.hash))
        let known = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        #expect(known.known?.database == Self.database && !known.mayHaveWithheld)
        return tracker
    }

    @Test func `a peer that is out of sync may have withheld values`() throws {
        var tracker = try trusting()
        let output = tracker.outOfSync()
        #expect(output.mayHaveWithheld)
    }

    @Test func `a peer that is out of sync again and again, though nothing has changed, withholds nothing`() throws {
        var tracker = try trusting()
        var told: [Bool] = []
        for _ in 0..<5 {
            let doubt = tracker.outOfSync()
            told.append(doubt.mayHaveWithheld)
            let known = tracker.hashRead(try number(doubt), .success(Self.hash))
            #expect(known.known?.news == .unchanged && !known.mayHaveWithheld)
        }
        #expect(told == [true, true, true, false, false])
    }

    /// Each search finds the same, but only after a discovery. The write of the features follows it, and is answered so
    /// once more.
    @Test func `a peer without a readable hash that is out of sync again and again is not believed for ever`() throws {
        var tracker = try trusting()
        var told: [Bool] = []
        for _ in 0..<5 {
            let doubt = tracker.outOfSyncUnawaited()
            told.append(doubt.mayHaveWithheld)
            guard !doubt.requests.isEmpty else { continue }
            let unread = tracker.hashRead(try number(doubt), .success(nil))
            let known = tracker.discovered(try number(unread), .success(Self.database))
            #expect(known.known?.database == Self.database)
        }
        #expect(told == [true, true, true, false, false])
        // What the program asks for is not in vain: it is looked at, but nothing is told.
        let doubt = tracker.outOfSync()
        #expect(!doubt.requests.isEmpty && !doubt.mayHaveWithheld)
    }

    @Test func `a peer that tells of a change by Service Changed goes on behind the confirmation`() throws {
        var tracker = try trusting()
        let told = tracker.serviceChanged(1...8)
        let outOfSync = tracker.outOfSync()
        #expect(!told.mayHaveWithheld && !outOfSync.mayHaveWithheld)
    }

    @Test func `a change that only the hash tells may have had values withheld`() throws {
        var tracker = try trusting()
        let settling = tracker.operationBegan()
        let changed = tracker.hashRead(try number(settling), .success(Self.otherHash))
        #expect(changed.mayHaveWithheld)
    }
}
