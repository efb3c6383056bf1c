extension VirtualTime {
    /// Runs a body with many seeds, on all cores, and finds the shortest run that fails.
    ///
    /// ```swift
    /// let (level, service) = (BluetoothUUID(0x2A19), BluetoothUUID(0x180F))
    /// let battery = LocalPeripheral(name: "Battery") {
    ///     LocalService(service) { LocalCharacteristic(level, [.read, .notify], value: .stored([80])) }
    /// }
    /// try await VirtualTime.explore(seeds: 1...500) { time in
    ///     let air = SimulatedAir(time)
    ///     let (near, far) = (air.adapter(), air.adapter())
    ///     air.faults.add(.loseLinks(every: .seconds(2)))
    ///     try await withThrowingTaskGroup(of: Void.self) { group in
    ///         group.addTask { try await battery.run(on: far) }
    ///         let central = try await Central.open(.radio(near))
    ///         let read = CommandBlock.read(level).retry()
    ///         let value = try await central.peripheral(far.address).withQueue { try await $0.connecting().run(read) }
    ///         try #require(Array(value) == [80])
    ///         group.cancelAll()
    ///     }
    /// }
    /// ```
    ///
    /// A run fails if its body throws. So check with `try #require`: an `#expect` that fails throws nothing. It doesn't
    /// count as a failed run, and the seed isn't named.
    ///
    /// A failure is repeatable: call ``run(seed:order:limit:patience:_:)`` with the seed that the error names, and with
    /// the same `order` and `limit`.
    ///
    /// - Parameters:
    ///   - seeds: the seeds.
    ///   - order: the order of jobs that are runnable at the same time.
    ///   - limit: the virtual time after which a run is given up.
    ///   - body: the code to run, as in ``run(seed:order:limit:patience:_:)``; a run that throws has failed.
    /// - Returns: how many runs there were.
    /// - Throws: ``ExplorationError`` if a run failed; `CancellationError`.
    @discardableResult
    @concurrent
    public static func explore(
        seeds: ClosedRange<UInt64> = 1...100,
        order: JobOrder = .shuffled,
        limit: Duration = .seconds(86_400),
        _ body: @escaping @Sendable (VirtualTime) async throws -> Void
    ) async throws -> Int {
        let starts = seeds.map { Exploration.Start($0, nil) }
        return try await Exploration.run(starts, order, limit) { time, _, _ in try await body(time) }.conclude()
    }

    /// Runs a body with a fault at each of its steps, one run after another: at the first occasion to strike, then at
    /// the second, until a run has no occasion left; for each of several faults with each of several seeds.
    ///
    /// ```swift
    /// try await VirtualTime.explore(sweeping: [.dropLink(insteadOf: .any), .swallow(.any)]) { time, fault in
    ///     let air = SimulatedAir(time)
    ///     air.faults.add(fault)
    ///     …
    /// }
    /// ```
    ///
    /// As in ``explore(seeds:order:limit:_:)``, a run fails if its body throws. A failure is repeatable with the seed
    /// that the error names, and with the fault `faults[fault].times(1).skipping(step)` of its
    /// ``ExplorationError/fault`` and ``ExplorationError/step``.
    ///
    /// - Parameters:
    ///   - faults: the faults; each strikes once in a run, whatever count it was made with.
    ///   - seeds: the seeds.
    ///   - order: the order of jobs that are runnable at the same time.
    ///   - limit: the virtual time after which a run is given up.
    ///   - body: the code to run. It adds the fault to its air, for all adapters or for some.
    /// - Returns: how many runs there were; just one for each fault and seed means that the body has not added the
    ///   fault.
    /// - Throws: ``ExplorationError`` if a run failed; `CancellationError`.
    @discardableResult
    @concurrent
    public static func explore(
        sweeping faults: [Fault],
        seeds: ClosedRange<UInt64> = 1...1,
        order: JobOrder = .shuffled,
        limit: Duration = .seconds(86_400),
        _ body: @escaping @Sendable (VirtualTime, Fault) async throws -> Void
    ) async throws -> Int {
        let starts: [Exploration.Start] = seeds.flatMap { seed in
            faults.indices.map { index in (seed, Exploration.Place(fault: index, step: 0)) }
        }
        let exploration = try await Exploration.run(starts, order, limit) { time, place, mark in
            guard let place else { return }
            try await body(time, faults[place.fault].times(1).skipping(place.step).marking(mark))
        }
        return try exploration.conclude()
    }
}
