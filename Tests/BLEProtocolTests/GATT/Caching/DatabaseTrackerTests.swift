import Testing

@testable import BLEProtocol

/// The machine that decides when a remembered database may be used.
@Suite struct DatabaseTrackerTests {
    typealias Tracker = DatabaseTracker

    static let hash = [UInt8](repeating: 0xAA, count: 16)
    static let otherHash = [UInt8](repeating: 0xBB, count: 16)

    static let database = GATTDatabase(services: [
        GATTService(
            uuid: .genericAttribute,
            handle: 1,
            endHandle: 8,
            characteristics: [
                Characteristic(
                    uuid: BluetoothUUID.Characteristics.serviceChanged,
                    properties: .indicate,
                    handle: 2,
                    valueHandle: 3,
                    endHandle: 4,
                    descriptors: [Descriptor(uuid: .clientCharacteristicConfiguration, handle: 4)]
                ),
                Characteristic(
                    uuid: BluetoothUUID.Characteristics.clientSupportedFeatures,
                    properties: [.read, .write],
                    handle: 5,
                    valueHandle: 6,
                    endHandle: 6
                ),
                hashCharacteristic(7),
            ]
        )
    ])
    static let bare = GATTDatabase(services: [
        GATTService(uuid: .genericAttribute, handle: 1, endHandle: 4, characteristics: [hashCharacteristic(2)])
    ])
    private static func hashCharacteristic(_ handle: UInt16) -> Characteristic {
        Characteristic(
            uuid: BluetoothUUID.Characteristics.databaseHash,
            properties: .read,
            handle: handle,
            valueHandle: handle + 1,
            endHandle: handle + 1
        )
    }

    func kinds(_ output: Tracker.Output) -> [Tracker.Request.Kind] { output.requests.map(\.kind) }

    func number(_ output: Tracker.Output) throws -> Int { try #require(output.requests.last).number }

    var settling: [Tracker.Request.Kind] {
        let changed = Self.database.services[0].characteristics[0]
        return [.enableFeatures(handle: 6), .subscribe(changed), .readHash]
    }

    /// A tracker that has discovered everything and found the hash to be the same before and after.
    private func discovered() throws -> Tracker {
        var tracker = Tracker()
        let discovery = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        let settling = tracker.discovered(try number(discovery), .success(Self.database))
        let known = tracker.hashRead(try number(settling), .success(Self.hash))
        #expect(known.known == Tracker.Known(database: Self.database, news: .first))
        return tracker
    }

    @Test func `what doesn't have the peer's hash is discovered once more, and believed when it is found twice`() throws
    {
        for isComplete in [true, false] {
            var tracker = Tracker()
            let first = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
            let again = tracker.discovered(try number(first), .success(Self.bare), hash: Self.otherHash)
            #expect(kinds(again) == [.discover] && again.known == nil)
            let settling =
                isComplete
                ? tracker.discovered(try number(again), .success(Self.database), hash: Self.hash)
                : tracker.discovered(try number(again), .success(Self.bare), hash: Self.otherHash)
            let known = tracker.hashRead(try number(settling), .success(Self.hash))
            let database = isComplete ? Self.database : Self.bare
            #expect(known.known == Tracker.Known(database: database, news: .first))
            #expect(known.memory == .store(RememberedDatabase(database: database, hash: Self.hash)))
        }
    }

    @Test func `what is not remembered is discovered between two readings of the hash`() throws {
        var tracker = Tracker()
        let first = tracker.want()
        #expect(kinds(first) == [.readHash])
        #expect(tracker.want() == Tracker.Output())
        let second = tracker.hashRead(try number(first), .success(Self.hash))
        #expect(kinds(second) == [.discover] && tracker.current == nil)
        let third = tracker.discovered(try number(second), .success(Self.database))
        #expect(kinds(third) == settling && third.known == nil)
        let last = tracker.hashRead(try number(third), .success(Self.hash))
        #expect(last.known?.database == Self.database && last.requests.isEmpty)
        #expect(last.memory == .store(RememberedDatabase(database: Self.database, hash: Self.hash)))
        #expect(tracker.current == Self.database && !tracker.isFromMemory)
    }

    @Test func `what is remembered is used after one request, and settled behind the program's first`() throws {
        var tracker = Tracker(remembered: RememberedDatabase(database: Self.database, hash: Self.hash))
        let known = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        #expect(known.known == Tracker.Known(database: Self.database, news: .first))
        #expect(known.requests.isEmpty && known.memory == nil && tracker.isFromMemory)
        let behind = tracker.operationBegan()
        #expect(kinds(behind) == settling)
        #expect(tracker.operationBegan() == Tracker.Output())
        #expect(tracker.hashRead(try number(behind), .success(Self.hash)) == Tracker.Output())
        #expect(tracker.current == Self.database)
    }

    @Test func `a change between the trust and the settling is noticed`() throws {
        var tracker = Tracker(remembered: RememberedDatabase(database: Self.database, hash: Self.hash))
        _ = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        let output = tracker.hashRead(try number(tracker.operationBegan()), .success(Self.otherHash))
        #expect(output.stale == 0x0001...0xFFFF && kinds(output) == [.discover] && tracker.current == nil)
        let settled = tracker.discovered(try number(output), .success(Self.bare))
        let known = tracker.hashRead(try number(settled), .success(Self.otherHash))
        #expect(known.known?.news == .changed(before: Self.database, affected: 0x0001...0xFFFF))
    }

    @Test func `another hash, none, and no answer have everything discovered`() throws {
        for hash in [Self.otherHash, nil] {
            var tracker = Tracker(remembered: RememberedDatabase(database: Self.database, hash: Self.hash))
            let output = tracker.hashRead(try number(tracker.want()), .success(hash))
            #expect(kinds(output) == [.discover])
            let next = tracker.discovered(try number(output), .success(Self.bare))
            // Without a hash there is nothing to verify, and nothing to remember.
            #expect((next.known == nil) == (hash != nil))
            if hash == nil { #expect(next.memory == .forget) }
        }
        var tracker = Tracker()
        let failure = GATTFailure.disconnected(DisconnectReason(.supervisionTimeout))
        let output = tracker.hashRead(try number(tracker.want()), .failure(failure))
        #expect(output.failure == failure && kinds(tracker.want()) == [.readHash])
    }

    @Test func `Service Changed puts the handles in doubt until everything is known again`() throws {
        var tracker = try discovered()
        let doubt = tracker.serviceChanged(0x0010...0x0020)
        #expect(doubt.stale == 0x0010...0x0020 && kinds(doubt) == [.readHash] && tracker.current == nil)
        let discovery = tracker.hashRead(try number(doubt), .success(Self.otherHash))
        let settled = tracker.discovered(try number(discovery), .success(Self.bare))
        let known = tracker.hashRead(try number(settled), .success(Self.otherHash))
        #expect(known.known?.news == .changed(before: Self.database, affected: 0x0010...0x0020))
        #expect(known.memory == .store(RememberedDatabase(database: Self.bare, hash: Self.otherHash)))
    }

    @Test func `a change during a discovery has it begun anew, and the late answer ignored`() throws {
        var tracker = Tracker()
        let discovery = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        let again = tracker.serviceChanged(0x0001...0x0005)
        #expect(again.withdrawn == [try number(discovery)] && kinds(again) == [.readHash])
        #expect(tracker.discovered(try number(discovery), .success(Self.bare)) == Tracker.Output())
        #expect(tracker.current == nil)
    }

    @Test func `the same hash after a change has the subscriptions made again, after Out Of Sync nothing`() throws {
        var tracker = try discovered()
        let changed = tracker.hashRead(try number(tracker.serviceChanged(0x0001...0xFFFF)), .success(Self.hash))
        #expect(changed.known?.news == .changed(before: Self.database, affected: 0x0001...0xFFFF))
        let same = tracker.hashRead(try number(tracker.outOfSync()), .success(Self.hash))
        #expect(same.known == Tracker.Known(database: Self.database, news: .unchanged))
        #expect(same.memory == nil)
    }

    @Test func `Service Changed once more, with the same hash, leaves everything as it is`() throws {
        var tracker = try discovered()
        let first = tracker.hashRead(try number(tracker.serviceChanged(0x0001...0xFFFF)), .success(Self.hash))
        #expect(first.known?.news == .changed(before: Self.database, affected: 0x0001...0xFFFF))
        let second = tracker.hashRead(try number(tracker.serviceChanged(0x0001...0xFFFF)), .success(Self.hash))
        #expect(second.known?.news == .unchanged && kinds(second) == [.wait(ServiceChangeBackoff.calm)])
        // Without a hash, too: what is discovered is compared.
        let third = tracker.serviceChanged(0x0001...0xFFFF)
        let discovery = tracker.hashRead(try number(third), .success(nil))
        let same = tracker.discovered(try number(discovery), .success(Self.database))
        #expect(same.known?.news == .unchanged)
        #expect(!kinds(same).contains(.subscribe(Self.database.services[0].characteristics[0])))
    }

    @Test func `a service that was removed and has come back within one look has the subscriptions made again`() throws
    {
        var tracker = try discovered()
        // It is told when it goes, and when it comes.
        _ = tracker.serviceChanged(0x0010...0x0020)
        let back = tracker.hashRead(try number(tracker.serviceChanged(0x0010...0x0020)), .success(Self.hash))
        #expect(back.known?.news == .changed(before: Self.database, affected: 0x0010...0x0020))
        let third = tracker.hashRead(try number(tracker.serviceChanged(0x0010...0x0020)), .success(Self.hash))
        #expect(third.known?.news == .unchanged)
    }

    @Test func `a peer that says so again and again is looked at after a wait, and used meanwhile`() throws {
        var tracker = try discovered()
        for _ in 0..<ServiceChangeBackoff.patience {
            let doubt = tracker.serviceChanged(0x0001...0x0004)
            #expect(kinds(doubt) == [.readHash])
            _ = tracker.hashRead(try number(doubt), .success(Self.hash))
        }
        for delay in [0.5, 1, 2, 4, 8, 16, 32, 32] {
            let doubt = tracker.serviceChanged(0x0001...0x0004)
            #expect(kinds(doubt) == [.wait(.seconds(delay))] && doubt.stale == nil)
            #expect(tracker.current == Self.database)
            // Whatever more it says changes nothing.
            #expect(tracker.serviceChanged(0x0007...0x0008).requests.isEmpty)
            let look = tracker.waited(try number(doubt))
            #expect(kinds(look) == [.readHash] && look.stale == 0x0001...0x0008)
            #expect(tracker.hashRead(try number(look), .success(Self.hash)).known?.news == .unchanged)
        }
    }

    @Test func `a peer that was calm for a while is looked at at once`() throws {
        var tracker = try discovered()
        var known = Tracker.Output()
        for _ in 0..<ServiceChangeBackoff.patience {
            known = tracker.hashRead(try number(tracker.serviceChanged(0x0001...0x0004)), .success(Self.hash))
        }
        #expect(tracker.waited(try number(known)) == Tracker.Output())
        let doubt = tracker.serviceChanged(0x0001...0x0004)
        #expect(kinds(doubt) == [.readHash] && doubt.stale == 0x0001...0x0004)
        // A wait that was withdrawn does nothing.
        #expect(tracker.waited(try number(known)) == Tracker.Output())
    }

    @Test func `one that changes each time is not used while it is waited`() throws {
        var tracker = try discovered()
        for round in 1...ServiceChangeBackoff.patience {
            let other = round % 2 == 0 ? Self.database : Self.bare
            let octets = [UInt8](repeating: UInt8(round), count: 16)
            let discovery = tracker.hashRead(try number(tracker.serviceChanged(1...4)), .success(octets))
            let settled = tracker.discovered(try number(discovery), .success(other))
            _ = tracker.hashRead(try #require(settled.requests.last { $0.kind == .readHash }).number, .success(octets))
        }
        let doubt = tracker.serviceChanged(1...4)
        #expect(kinds(doubt) == [.wait(.milliseconds(500))] && doubt.stale == 1...4 && tracker.current == nil)
        #expect(tracker.want() == Tracker.Output())
        #expect(kinds(tracker.waited(try number(doubt))) == [.readHash])
    }

    @Test func `whoever waits for one that changes before it is known is told so behind the longest wait`() throws {
        var tracker = try discovered()
        func cutOff() throws -> Tracker.Output {
            let output = tracker.serviceChanged(1...4)
            if case .wait? = kinds(output).last { _ = tracker.waited(try number(output)) }
            return output
        }
        for _ in 0..<ServiceChangeBackoff.patience + 7 { #expect(try !cutOff().isRestless) }
        let restless = try cutOff()
        #expect(restless.isRestless && kinds(restless) == [.wait(.seconds(32))] && restless.failure == nil)
        // The next one waits as patiently.
        #expect(try !cutOff().isRestless)
        #expect(try cutOff().isRestless)
    }

    @Test func `one that changed before it was known is believed though its hash differs, also when that was told`()
        throws
    {
        var tracker = try discovered()
        var doubt = tracker.serviceChanged(1...4)
        while !doubt.isRestless {
            if case .wait? = kinds(doubt).last { _ = tracker.waited(try number(doubt)) }
            doubt = tracker.serviceChanged(1...4)
        }
        let discovery = tracker.hashRead(try number(tracker.waited(try number(doubt))), .success(Self.otherHash))
        let settled = tracker.discovered(try number(discovery), .success(Self.database))
        let verified = tracker.hashRead(try number(settled), .success([UInt8](repeating: 0xCC, count: 16)))
        #expect(verified.known?.database == Self.database && verified.requests.map(\.kind) == [.wait(.seconds(60))])
    }

    @Test func `a change back in the middle of a discovery doesn't bring back what has the other hash`() throws {
        var tracker = try discovered()
        let discovery = tracker.hashRead(try number(tracker.serviceChanged(1...4)), .success(Self.otherHash))
        #expect(kinds(discovery) == [.discover])
        // Once more while it is being discovered: the hash is the new one, the database known is the old one.
        let again = tracker.hashRead(try number(tracker.serviceChanged(1...4)), .success(Self.otherHash))
        #expect(kinds(again) == [.discover] && again.known == nil)
    }

    @Test func `Service Changed once more behind a discovery confirms what was discovered, not what was known before`()
        throws
    {
        var tracker = try discovered()
        let discovery = tracker.hashRead(try number(tracker.serviceChanged(1...4)), .success(Self.otherHash))
        let settling = tracker.discovered(try number(discovery), .success(Self.bare), hash: Self.otherHash)
        #expect(kinds(settling) == [.readHash] && settling.known == nil)
        let known = tracker.hashRead(try number(tracker.serviceChanged(1...4)), .success(Self.otherHash))
        #expect(
            known.known
                == Tracker.Known(database: Self.bare, news: .changed(before: Self.database, affected: 0x0001...0x0004))
        )
        #expect(known.memory == .store(RememberedDatabase(database: Self.bare, hash: Self.otherHash)))
    }

    @Test func `a peer that never comes to rest is believed in the end, and not remembered`() throws {
        var tracker = Tracker()
        var output = tracker.want()
        var rounds = 0
        while output.known == nil {
            rounds += 1
            try #require(rounds < 20)
            let request = try #require(output.requests.last)
            output =
                request.kind == .discover
                ? tracker.discovered(request.number, .success(Self.database))
                : tracker.hashRead(request.number, .success([UInt8](repeating: UInt8(rounds), count: 16)))
        }
        #expect(output.memory == nil && tracker.current == Self.database)
    }

    @Test func `a discovery that the peer refuses as out of sync is repeated, but not for ever`() throws {
        var tracker = Tracker()
        var output = tracker.want()
        var discoveries = 0
        while output.failure == nil {
            let request = try #require(output.requests.last)
            if request.kind == .discover {
                discoveries += 1
                output = tracker.discovered(request.number, .failure(.attribute(.databaseOutOfSync, handle: 1)))
            } else {
                output = tracker.hashRead(request.number, .success(Self.hash))
            }
        }
        #expect(discoveries == 4)
    }

    @Test func `a link that ends amid the first question tells why`() throws {
        var (tracker, first) = try recalling(Self.bare)
        let failed = tracker.probed(try number(first), .failure(.cancelled))
        #expect(failed.failure == .cancelled && failed.memory == nil)
    }

    @Test func `what is forgotten is discovered afresh`() throws {
        var tracker = try discovered()
        #expect(tracker.forget().memory == .forget)
        #expect(tracker.current == nil)
        let output = tracker.hashRead(try number(tracker.want()), .success(Self.hash))
        #expect(kinds(output) == [.discover])
    }
}
