import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// A scan over the management socket, with the test as the kernel.
@Suite(.timeLimit(.minutes(10))) struct ManagementScanTests {
    /// Read Advertisement Monitor Features: nothing supported, 32 handles, 16 patterns, those in use.
    private static func features(supported: UInt8 = 0, inUse: [UInt8] = []) -> [UInt8] {
        [supported, 0, 0, 0, 0, 0, 0, 0, 32, 0, 16, UInt8(inUse.count), 0] + inUse.flatMap { [$0, 0] }
    }

    private func scan(
        _ request: ScanRequest,
        on kernel: KernelDouble,
        beside hasNeighbour: Bool = false,
        events: @escaping @Sendable (ScanEvent) -> Void = { _ in }
    ) -> ManagementScan {
        let place = ScanPlace(
            loop: kernel.loop,
            timeline: kernel.timeline,
            adapter: { nil },
            leftovers: Leftovers(folder: nil, boot: "a"),
            hasNeighbour: { hasNeighbour }
        )
        let sink = EventSink<ScanEvent>(events)
        let scan = ManagementScan(request, management: kernel.management, place: place, sink: sink) { _ in }
        kernel.loop.enqueue { scan.begin() }
        return scan
    }

    /// What an active scan reports, once it discovers.
    private func activeScan(
        on kernel: KernelDouble
    ) async throws -> (scan: ManagementScan, reports: AsyncStream<AdvertisingReport>) {
        let (reports, tell) = AsyncStream<AdvertisingReport>.makeStream()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel) { event in
            if case .reports(let found) = event { for report in found { tell.yield(report) } }
        }
        #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery)
        return (scan, reports)
    }

    /// Tells of an advertisement.
    private func tell(_ kernel: KernelDouble, _ flags: ManagementDeviceFound.Flags, _ data: [UInt8]) throws {
        let flags = [UInt8(flags.rawValue), 0, 0, 0]
        try kernel.tell(0x12, ManagementAddress(.example).octets + [0xC4] + flags + [UInt8(data.count), 0] + data)
    }

    /// Ends the discoveries of a turn, behind each of which others may go first.
    private func takeTurn(_ kernel: KernelDouble) async throws {
        for round in 1...DiscoveryMachine.roundsOfTurn {
            #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery)
            try kernel.tellThatDiscoveryEnded()
            if round == DiscoveryMachine.roundsOfTurn { return }
            // Its answer is behind the end.
            let (heard, hear) = AsyncStream<Void>.makeStream()
            kernel.management.submit(ManagementReadInformation()) { _ in hear.finish() }
            #expect(try await kernel.answer(.failed)?.opcode == .readInformation)
            for await _ in heard {}
            kernel.timeline.fire(DiscoveryMachine.courtesy)
        }
    }

    @Test func `beside a neighbour it rests, listens by a monitor meanwhile, and discovers again`() async throws {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel, beside: true)
        try await takeTurn(kernel)
        #expect(try await kernel.answer(with: Self.features())?.opcode == .readMonitorFeatures)
        #expect(try await kernel.answer(with: [1, 0])?.opcode == .addPatternsMonitor)
        kernel.timeline.fire(DiscoveryMachine.rest)
        let next = await [kernel.next(), kernel.next()].compactMap { $0?.opcode }
        #expect(Set(next) == [.removeMonitor, .startDiscovery])
        scan.cancel()
    }

    @Test func `alone it discovers again at once`() async throws {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel)
        for _ in 0..<3 {
            #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery)
            try kernel.tellThatDiscoveryEnded()
        }
        #expect(await kernel.next()?.opcode == .startDiscovery)
        scan.cancel()
    }

    @Test func `whether another program discovers or the controller is busy is learned from a stop of no type`()
        async throws
    {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel)
        for status in [ManagementStatus.rejected, .invalidParameters] {
            #expect(try await kernel.answer(.busy)?.opcode == .startDiscovery)
            let stop = try await kernel.answer(status)
            #expect(stop == KernelDouble.Command(opcode: .stopDiscovery, parameters: [0]))
            // Its answer is behind that one.
            let (heard, hear) = AsyncStream<Void>.makeStream()
            kernel.management.submit(ManagementReadInformation()) { _ in hear.finish() }
            #expect(try await kernel.answer(.failed)?.opcode == .readInformation)
            for await _ in heard {}
            kernel.timeline.fire(DiscoveryMachine.retryDelay)
        }
        // This one is shared until it ends.
        try kernel.tellThatDiscoveryEnded()
        #expect(await kernel.next()?.opcode == .startDiscovery)
        scan.cancel()
    }

    @Test func `where the controller looks at patterns itself, it rests without a monitor`() async throws {
        let kernel = try KernelDouble()
        let scan = scan(ScanRequest(reportsDuplicates: false), on: kernel, beside: true)
        try await takeTurn(kernel)
        #expect(try await kernel.answer(with: Self.features(supported: 1))?.opcode == .readMonitorFeatures)
        kernel.timeline.fire(DiscoveryMachine.rest)
        #expect(await kernel.next()?.opcode == .startDiscovery)
        scan.cancel()
    }

    @Test(arguments: [ScanRequest(), ScanRequest(isActive: false)])
    func `a monitor that another program takes away is added again`(_ request: ScanRequest) async throws {
        let kernel = try KernelDouble()
        let scan = scan(request, on: kernel)
        #expect(try await kernel.answer(with: Self.features())?.opcode == .readMonitorFeatures)
        #expect(try await kernel.answer(with: [7, 0])?.opcode == .addPatternsMonitor)
        if request.isActive { #expect(try await kernel.answer(with: [6])?.opcode == .startDiscovery) }
        try kernel.tell(0x2C, [7, 0])
        #expect(try await kernel.answer(with: Self.features())?.opcode == .readMonitorFeatures)
        #expect(try await kernel.answer(with: [8, 0])?.opcode == .addPatternsMonitor)
        kernel.loop.enqueue { scan.cancel() }
        // Whether or not the answer was there first.
        let last = request.isActive ? await [kernel.next(), kernel.next()] : [await kernel.next()]
        #expect(last.contains(.init(opcode: .removeMonitor, parameters: [8, 0])))
    }

    /// It has its data in the scan response, and is none to connect to; the kernel merges legacy ones alone.
    @Test func `an extended advertisement and its scan response are one report`() async throws {
        let kernel = try KernelDouble()
        let (scan, reports) = try await activeScan(on: kernel)
        try tell(kernel, .notConnectable, [])
        try tell(kernel, .scanResponse, [2, 0x0A, 4])
        // Of a legacy device, whose advertisement was lost.
        try tell(kernel, .scanResponse, [2, 0x0A, 5])
        var heard = reports.makeAsyncIterator()
        let (merged, alone) = (await heard.next(), await heard.next())
        #expect(merged?.data.bytes == [2, 0x0A, 4] && merged?.isConnectable == false)
        #expect(alone?.data.bytes == [2, 0x0A, 5] && alone?.isConnectable == true)
        scan.cancel()
    }

    /// No advertisement of Bluetooth 4 has so long a response, and no extended one with a response accepts connections.
    @Test func `a long scan response without its advertisement is of a device that accepts no connections`()
        async throws
    {
        let kernel = try KernelDouble()
        let (scan, reports) = try await activeScan(on: kernel)
        let data: [UInt8] = [31, 0xFF] + [UInt8](repeating: 7, count: 30)
        try tell(kernel, .scanResponse, data)
        var heard = reports.makeAsyncIterator()
        let report = await heard.next()
        #expect(report?.data.bytes == data && report?.isConnectable == false)
        scan.cancel()
    }

    @Test func `an advertisement without data is reported also where no scan response comes`() async throws {
        let kernel = try KernelDouble()
        let (scan, reports) = try await activeScan(on: kernel)
        try tell(kernel, .notConnectable, [])
        // Its answer is behind that.
        let (answered, answer) = AsyncStream<Void>.makeStream()
        kernel.management.submit(ManagementReadInformation()) { _ in answer.finish() }
        #expect(try await kernel.answer(.failed)?.opcode == .readInformation)
        for await _ in answered {}
        for _ in 0..<2 {
            kernel.timeline.fire(HeldReports.responseDelay)
            await kernel.loop.turn()
        }
        var heard = reports.makeAsyncIterator()
        let report = await heard.next()
        #expect(report?.data.bytes == [])
        scan.cancel()
    }
}
