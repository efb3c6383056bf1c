import BLEProtocol

/// What is known about the peer's attributes, and what follows from a change.
extension LinkMachine {
    /// The peer has answered Database Out Of Sync: finds out what is different.
    mutating func outOfSync(_ output: inout Output) {
        chosen = ChosenServices()
        take(tracker.outOfSync(), &output)
    }

    /// The same, where nobody awaits what it has answered so: it doesn't say that again.
    mutating func outOfSyncUnawaited(_ output: inout Output) {
        chosen = ChosenServices()
        take(tracker.outOfSyncUnawaited(), &output)
    }

    /// An operation of the program is in the queue: the requests that verify a remembered database may follow it.
    mutating func settle(_ output: inout Output) {
        if tracker.mustSettle { take(tracker.operationBegan(), &output) }
    }

    /// Forgets the peer's services, here and for later links: they are discovered again for whoever waits for them, a
    /// subscription too, or asks next.
    mutating func forget(_ output: inout Output) {
        if tracker.current != nil || tracker.hasMemory { unclaimed.servicesWereKnown = true }
        take(tracker.forget(), &output)
        if !waitingForDatabase.isEmpty || isAnythingUnsure { take(tracker.want(), &output) }
    }

    /// Records what was discovered of chosen services.
    mutating func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) {
        if tracker.current == nil { chosen.add(found, of: uuids) }
    }

    /// A wait of the tracker is over, or one of the two of this machine.
    mutating func waited(_ number: Int, _ output: inout Output) {
        switch number {
        case Self.earlyWait: claimsAreOver(&output)
        case Self.settlingWait: settle(&output)
        default: take(tracker.waited(number), &output)
        }
    }

    /// The number of the wait for the program's first operation behind a remembered database, and how long it is: a
    /// program that has only discovered the services may use none for hours, and wants to be told of changes.
    private static let settlingWait = -1
    private static let settlingDelay = Duration.seconds(1)

    /// Finds a characteristic that may be used at once; `nil` if the peer must be asked, or the link may need more
    /// security for it.
    func known(_ selector: CharacteristicSelector) throws(LinkFailure) -> Characteristic? {
        let found: Characteristic?
        if let database = tracker.current {
            let result = selector.find(in: database)
            if result.failure == .notFound, tracker.mayBeIncomplete { return nil }
            found = try result.get()
        } else {
            found = try? selector.find(in: chosen.database).get()
        }
        guard !demands.isEmpty, let found else { return found }
        return demands.level(for: found, in: tracker.current ?? chosen.database) == nil ? found : nil
    }

    // MARK: - What the tracker asks for

    mutating func take(_ step: DatabaseTracker.Output, _ output: inout Output) {
        // They are part of what is known now, or may mean something else.
        if step.known != nil || step.stale != nil || step.memory == .forget { chosen = ChosenServices() }
        if let memory = step.memory {
            output.add { $0.memory.append(memory) }
            hasChangedMemory = true
        }
        if let stale = step.stale {
            doubted = (lastRaise, purposes.last?.id.number ?? doubted.procedure)
            shut(stale)
            take(client.invalidate(stale), &output)
        }
        if step.mayHaveWithheld { withheld(&output) }
        for number in step.withdrawn { withdraw(search: number, &output) }
        for request in step.requests { make(request, &output) }
        if let known = step.known {
            take(known, &output)
            answer(&output)
            if tracker.mustSettle { output.add { $0.waits.append(.start(Self.settlingWait, Self.settlingDelay)) } }
        } else if let failure = step.failure {
            failSubscriptions(failure, &output)
            for id in waitingForDatabase { searchFailed(id, failure, &output) }
        } else if step.isRestless {
            for id in callersWaitingForDatabase { finish(id, .failure(.restless), &output) }
        }
    }

    private var waitingForDatabase: [OperationID] { operations.filter { $0.stage == .finding }.map(\.id) }

    /// Not what nobody awaits: a switch-off is still to be made.
    private var callersWaitingForDatabase: [OperationID] {
        operations.filter { $0.stage == .finding && !$0.target.isSwitchOff }.map(\.id)
    }

    private mutating func answer(_ output: inout Output) {
        for id in waitingForDatabase {
            // The effect of one answer may put the database in doubt again for the others.
            guard let database = tracker.current else { return }
            known(database, id, &output)
        }
    }

    private mutating func withdraw(search number: Int, _ output: inout Output) {
        if let procedure = searches.removeValue(forKey: number) {
            withdraw(procedure)
            take(client.cancel(procedure), &output)
        } else {
            output.add { $0.waits.append(.cancel(number)) }
        }
    }

    private mutating func make(_ request: DatabaseTracker.Request, _ output: inout Output) {
        switch request.kind {
        case .subscribe(let characteristic): subscribe(toServiceChanged: characteristic, &output)
        case .enableFeatures(let handle):
            let (_, step) = client.begin(WriteValue(handle: handle, value: [DatabaseTracker.features.rawValue]))
            take(step, &output)
        case .discover: search(DiscoverDatabase(), .discovery(request.number), request.number, &output)
        case .probe: search(DiscoverServices(isWhole: false), .probe(request.number), request.number, &output)
        case .readHash:
            let read = ReadByUUID(BluetoothUUID.Characteristics.databaseHash, limit: 1)
            search(read, .hash(request.number), request.number, &output)
        case .wait(let duration): output.add { $0.waits.append(.start(request.number, duration)) }
        }
    }

    private mutating func search(
        _ procedure: some GATTProcedure,
        _ purpose: Purpose,
        _ number: Int,
        _ output: inout Output
    ) {
        let (id, step) = client.begin(procedure)
        searches[number] = id
        purposes.append((id, purpose))
        take(step, &output)
    }

    mutating func discovered(
        _ number: Int,
        _ outcome: Result<GATTSuccess, GATTFailure>,
        _ output: inout Output
    ) {
        searches[number] = nil
        let found = outcome.flatMap { $0.value(as: GATTDatabase.self).map(Result.success) ?? .failure(.cancelled) }
        let hash = (try? found.get())?.computedHash()
        take(tracker.discovered(number, found, hash: hash), &output)
    }

    mutating func probed(_ number: Int, _ outcome: Result<GATTSuccess, GATTFailure>, _ output: inout Output) {
        searches[number] = nil
        let found = outcome.flatMap { $0.value(as: [GATTService].self).map(Result.success) ?? .failure(.cancelled) }
        take(tracker.probed(number, found), &output)
    }

    /// Any answer except a hash of the right length means that there is no usable hash.
    mutating func hashRead(_ number: Int, _ outcome: Result<GATTSuccess, GATTFailure>, _ output: inout Output) {
        searches[number] = nil
        let hash: Result<[UInt8]?, GATTFailure>
        switch outcome {
        case .success(let values):
            let value = values.value(as: [ReadByUUID.Value].self)?.first?.value
            hash = .success(value.flatMap { $0.count == 16 ? $0 : nil })
        case .failure(.attribute), .failure(.malformedResponse): hash = .success(nil)
        case .failure(let failure): hash = .failure(failure)
        }
        take(tracker.hashRead(number, hash), &output)
    }
}

extension CharacteristicSelector {
    /// The characteristic that the selector names.
    func find(in database: GATTDatabase) -> Result<Characteristic, LinkFailure> {
        let found: Characteristic? =
            switch self {
            case .uuid(let uuid, let service): database.characteristic(uuid, in: service)
            case .handle(let handle): database.characteristic(valueHandle: handle)
            case .exactly(let wanted):
                database.characteristic(valueHandle: wanted.valueHandle).flatMap { $0 == wanted ? $0 : nil }
            case .id: nil
            }
        if let found { return .success(found) }
        if case .exactly = self { return .failure(.servicesChanged) }
        return .failure(.notFound)
    }
}
