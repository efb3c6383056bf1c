import Testing

@testable import BLEProtocol

/// A peer that has no hash.
extension DatabaseTrackerTests {
    /// A tracker that remembers a peer without a hash, and what it does when it is asked.
    func recalling(_ database: GATTDatabase, tellsLater: Bool = false) throws -> (Tracker, Tracker.Output) {
        var tracker = Tracker(
            remembered: RememberedDatabase(database: database, hash: nil),
            tellsLater: tellsLater
        )
        let first = tracker.want()
        return (tracker, first)
    }

    @Test func `what never changes is remembered without a hash, what may change is not`() throws {
        for (database, tellsLater) in [(Self.bare, false), (Self.database, true), (Self.database, false)] {
            var tracker = Tracker(tellsLater: tellsLater)
            let discovery = tracker.hashRead(try number(tracker.want()), .success(nil))
            let known = tracker.discovered(try number(discovery), .success(database))
            let isKept = database.isStatic || tellsLater
            #expect(known.memory == (isKept ? .store(RememberedDatabase(database: database, hash: nil)) : nil))
        }
    }

    @Test func `without a hash the first services tell that all is the same, and a discovery makes sure`() throws {
        for (database, tellsLater) in [(Self.bare, false), (Self.database, true)] {
            var (tracker, first) = try recalling(database, tellsLater: tellsLater)
            #expect(kinds(first) == [.probe])
            let trusted = tracker.probed(try number(first), .success(database.services))
            #expect(trusted.known == Tracker.Known(database: database, news: .first))
            #expect(trusted.requests.isEmpty && trusted.memory == nil && tracker.isFromMemory)
            let settling = tracker.operationBegan()
            #expect(kinds(settling).last == .discover)
            #expect(tracker.discovered(try number(settling), .success(database)) == Tracker.Output())
            #expect(tracker.current == database)
        }
    }

    @Test func `one that may change and tells nobody later is not believed`() throws {
        let (_, first) = try recalling(Self.database)
        #expect(kinds(first) == [.readHash])
    }

    @Test func `other services at first have everything discovered`() throws {
        let moved = GATTService(uuid: .battery, handle: 2, endHandle: 5)
        for answer in [.success([moved]), .success([]), .failure(.attribute(.requestNotSupported, handle: 1))]
            as [Result<[GATTService], GATTFailure>]
        {
            var (tracker, first) = try recalling(Self.bare)
            let doubted = tracker.probed(try number(first), answer)
            #expect(kinds(doubted) == [.readHash] && doubted.known == nil)
            let discovery = tracker.hashRead(try number(doubted), .success(nil))
            let changed = GATTDatabase(services: [moved])
            let known = tracker.discovered(try number(discovery), .success(changed))
            let hasShown = if case .success(let services) = answer { !services.isEmpty } else { false }
            let kept = RememberedDatabase(database: changed, hash: nil, mayChange: hasShown)
            #expect(known.memory == .store(kept) && !tracker.isFromMemory)
        }
    }

    @Test func `what has changed though it never should is noticed, and not believed again`() throws {
        var (tracker, first) = try recalling(Self.bare)
        _ = tracker.probed(try number(first), .success(Self.bare.services))
        let settling = tracker.operationBegan()
        var changed = Self.bare
        changed.services.append(GATTService(uuid: .heartRate, handle: 5, endHandle: 9))
        let surprise = tracker.discovered(try number(settling), .success(changed))
        #expect(surprise.stale == 0x0001...0xFFFF && kinds(surprise) == [.readHash])
        #expect(tracker.current == nil)
        #expect(surprise.memory == .forget, "this link may not live to see what there is now")
        let discovery = tracker.hashRead(try number(surprise), .success(nil))
        let known = tracker.discovered(try number(discovery), .success(changed))
        let kept = RememberedDatabase(database: changed, hash: nil, mayChange: true)
        #expect(known.known?.database == changed && known.memory == .store(kept))

        var next = Tracker(remembered: kept)
        let again = next.want()
        #expect(kinds(again) == [.readHash])
        let found = next.discovered(try number(next.hashRead(try number(again), .success(nil))), .success(changed))
        #expect(found.known?.database == changed && found.memory == nil, "that is known of it already")
    }
}
