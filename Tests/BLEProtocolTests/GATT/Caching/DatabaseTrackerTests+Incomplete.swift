import Testing

@testable import BLEProtocol

/// A database that a peer, by ending the discovery too early, has left incomplete.
extension DatabaseTrackerTests {
    private static let empty = GATTDatabase(services: [GATTService(uuid: .genericAttribute, handle: 1, endHandle: 8)])

    @Test func `what lacks the hash that was read is never believed, and in the end used without being remembered`()
        throws
    {
        var tracker = Tracker()
        var output = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        for _ in 1..<Tracker.patience {
            output = tracker.discovered(try number(output), .success(Self.empty), hash: Self.otherHash)
            #expect(kinds(output) == [.discover] && output.known == nil)
        }
        output = tracker.discovered(try number(output), .success(Self.empty), hash: Self.otherHash)
        #expect(output.known?.database == Self.empty && output.memory == nil)
        #expect(tracker.missed() == Tracker.Output(), "it was discovered on this link")
    }

    // MARK: - What the program looks for

    /// A tracker that trusts what is remembered.
    private func trusting(hash: [UInt8], _ database: GATTDatabase = database) throws -> Tracker {
        var tracker = Tracker(remembered: RememberedDatabase(database: database, hash: hash))
        let known = tracker.hashRead(try number(tracker.want()), .success(hash))
        #expect(known.known?.database == database)
        return tracker
    }

    @Test func `what the program misses in a remembered database is looked for once more`() throws {
        var tracker = try trusting(hash: Self.hash, Self.bare)
        #expect(tracker.mayBeIncomplete)
        let search = tracker.missed()
        #expect(kinds(search) == [.discover] && tracker.current == Self.bare, "it is used meanwhile")
        #expect(tracker.missed() == Tracker.Output(), "one search is enough for all")
        let found = tracker.discovered(try number(search), .success(Self.database))
        #expect(found.stale == 0x0001...0xFFFF && kinds(found) == [.discover] && tracker.current == nil)
        let again = tracker.discovered(try number(found), .success(Self.database), hash: Self.otherHash)
        #expect(kinds(again) == settling, "it was found twice")
        let known = tracker.hashRead(try number(again), .success(Self.hash))
        #expect(known.known?.news == .changed(before: Self.bare, affected: 0x0001...0xFFFF))
        #expect(known.memory == .store(RememberedDatabase(database: Self.database, hash: Self.hash)))
        #expect(!tracker.mayBeIncomplete && tracker.missed() == Tracker.Output())
    }

    @Test func `a search that the peer ends too early takes nothing away from what is remembered`() throws {
        var tracker = try trusting(hash: Self.hash)
        let short = tracker.discovered(try number(tracker.missed()), .success(Self.empty))
        let whole = tracker.discovered(try number(short), .success(Self.database), hash: Self.otherHash)
        #expect(kinds(whole) == [.discover], "it differs from what was found before")
        let again = tracker.discovered(try number(whole), .success(Self.database), hash: Self.otherHash)
        let known = tracker.hashRead(try number(again), .success(Self.hash))
        #expect(known.known?.database == Self.database && tracker.current == Self.database)
    }

    @Test func `what is missing is believed to be, once it was looked for`() throws {
        let failure = GATTFailure.attribute(.unlikely, handle: 1)
        for result in [Result.success(Self.database), .failure(failure)] {
            var tracker = try trusting(hash: Self.hash)
            let known = tracker.discovered(try number(tracker.missed()), result)
            #expect(known.known == Tracker.Known(database: Self.database, news: .unchanged))
            #expect(known.stale == nil && known.failure == nil && known.requests.isEmpty)
            #expect(!tracker.mayBeIncomplete && tracker.missed() == Tracker.Output())
        }
    }

    @Test func `what is missing stays unknown if the link ends while it is looked for`() throws {
        for failure in [GATTFailure.disconnected(DisconnectReason(.supervisionTimeout)), .timedOut] {
            var tracker = try trusting(hash: Self.hash)
            let ended = tracker.discovered(try number(tracker.missed()), .failure(failure))
            #expect(ended.known == nil && ended.failure == failure && tracker.current == nil)
        }
    }

    @Test func `what is missing stays unknown if the link ends while a database without a hash is confirmed`() throws {
        var (tracker, trusted) = try recalling(Self.empty)
        _ = tracker.probed(try number(trusted), .success(Self.empty.services))
        let settled = tracker.operationBegan()
        let failure = GATTFailure.disconnected(DisconnectReason(.supervisionTimeout))
        #expect(tracker.discovered(try number(settled), .failure(failure)) == Tracker.Output())
        #expect(tracker.mayBeIncomplete)
    }

    @Test func `a database with the peer's own hash lacks nothing`() throws {
        var tracker = try trusting(hash: try #require(Self.database.computedHash()))
        #expect(!tracker.mayBeIncomplete && tracker.missed() == Tracker.Output())
    }

    @Test func `without a hash, the discovery that confirms it tells whether something is missing`() throws {
        var (tracker, trusted) = try recalling(Self.empty)
        let known = tracker.probed(try number(trusted), .success(Self.empty.services))
        #expect(known.known != nil && tracker.mayBeIncomplete)
        let search = tracker.missed()
        #expect(kinds(search) == [.discover])
        #expect(tracker.operationBegan() == Tracker.Output(), "it is confirmed once")
        let same = tracker.discovered(try number(search), .success(Self.empty))
        #expect(same.known?.news == .unchanged && !tracker.mayBeIncomplete)
    }

    @Test func `a change while it is looked for has everything discovered, and the late answer ignored`() throws {
        var tracker = try trusting(hash: Self.hash)
        let settled = tracker.operationBegan()
        let search = tracker.missed()
        let change = tracker.hashRead(try number(settled), .success(Self.otherHash))
        #expect(kinds(change) == [.discover])
        #expect(tracker.discovered(try number(search), .success(Self.bare)) == Tracker.Output())
        #expect(tracker.current == nil)
    }
}
