import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct EventTests {
    /// Keeps what it is told.
    struct Diary: EventHandler {
        let events = Recorder<Central.Event>()
        func handle(_ event: Central.Event) { events.add(event) }

        var all: [Central.Event] { events.all }
        var words: [String] { all.map { $0.description } }
    }

    /// The name of what happened, without what differs from run to run.
    private static func name(_ event: Central.Event) -> String {
        switch event.kind {
        case .connected: "connected"
        case .connectFailed: "not connected"
        case .disconnected: "disconnected"
        case .operation(let name, _, let error): error == nil ? name : "\(name) failed"
        case .values(let count): "\(count)"
        case .dropped: "dropped"
        case .signal: "signal"
        case .session(let state): "\(state)"
        case .reconnected: "reconnected"
        case .queue(let count): "queue \(count)"
        case .adapter: "adapter"
        }
    }

    private static func opened(_ bench: Bench, _ diary: Diary) async throws -> Peripheral {
        try await Central.open(.radio(bench.centralAdapter).reporting(to: diary))
            .peripheral(bench.peripheralAdapter.address)
    }

    @Test func `normal work tells of links, operations, values and queues, and nothing at info and above`() async throws
    {
        let diary = Diary()
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            let peripheral = try await Self.opened(bench, diary)
            try await peripheral.withLink { link in
                _ = try await link.read(Bench.readable)
                try await link.write([1], to: Bench.readable)
                _ = try await link.conditions()
                #expect(try await link.notifications(of: Bench.notifying).prefix(3).collect().count == 3)
            }
            try await peripheral.withQueue { queue in _ = try await queue.connecting().run(.read(Bench.readOnly)) }
            try await bench.time.sleep(for: .seconds(1))
        }
        let names = diary.all.map(Self.name)
        #expect(names.filter { $0 == "connected" }.count == 2 && names.filter { $0 == "disconnected" }.count == 2)
        #expect(names.filter { $0 == "read" }.count == 2 && names.contains("write"), "\(names)")
        #expect(names.filter { $0 == "1" }.count == 3 && names.contains("signal"))
        #expect(names.contains("queue 1") && names.last { $0.hasPrefix("queue") } == "queue 0")
        #expect(diary.all.allSatisfy { $0.level < .info }, "\(diary.words)")
        #expect(diary.words.contains { $0.contains("read A001: ") })
    }

    @Test func `a signal strength that a stream of conditions has is told, also with a change`() async throws {
        let diary = Diary()
        try await Bench.run { bench in
            let peripheral = try await Self.opened(bench, diary)
            try await peripheral.withLink(parameters: .balanced) { link in
                async let told = link.conditionChanges.map(\.rssi).collect(2)
                try await bench.time.sleep(for: .seconds(1))
                bench.air.setSignal(.dBm(-75), between: bench.centralAdapter, and: bench.peripheralAdapter)
                try await peripheral.prefer(.fast)
                #expect(try await told == [-60, -75])
            }
        }
        let signals = diary.all.compactMap { event -> Int? in
            if case .signal(let rssi) = event.kind { rssi } else { nil }
        }
        #expect(signals == [-60, -75], "\(diary.words)")
    }

    @Test func `the end of a link is told of the same peripheral as its beginning, whatever it was asked for by`()
        async throws
    {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            // By its octets it is rather a private address.
            let address = BluetoothAddress(rawValue: 0x4C00_0000_0001, kind: .public)
            let (near, far) = (air.adapter(), air.adapter(address: address))
            let (page, diary) = (MetricsPage(), Diary())
            let central = try await Central.open(.radio(near).reporting(to: page).reporting(to: diary))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: .radio(far)) { server in
                        for try await _ in server.centralEvents {}
                    }
                }
                try await central.peripheral("4C:00:00:00:00:01").withLink { _ in }
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
            try await time.sleep(for: .seconds(1))
            #expect(diary.all.compactMap(\.peripheral) == [address, address], "\(diary.words)")
            let lines = page.text.split(separator: "\n").filter { $0.hasPrefix("ble_links{") }
            #expect(lines == [#"ble_links{peripheral="4C:00:00:00:00:01"} 0"#])
        }
    }

    @Test func `a peripheral has one line on a page, also if it was named without the kind of its address`()
        async throws
    {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            // By its octets it is rather a private address.
            let address = BluetoothAddress(rawValue: 0x4C00_0000_0001, kind: .public)
            let (near, far) = (air.adapter(), air.adapter(address: address))
            let page = MetricsPage()
            let central = try await Central.open(.radio(near).reporting(to: page))
            let named = try central.peripheral("4C:00:00:00:00:01")
            // It isn't on the air yet.
            _ = await bleError { try await named.withLink(timeout: .seconds(5)) { _ in } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: .radio(far)) { server in
                        for try await _ in server.centralEvents {}
                    }
                }
                let found = try await named.withLink { link in link.peripheral }
                #expect(found.address == address)
                group.cancelAll()
                while await group.nextResult() != nil {}
                _ = await bleError { try await found.withLink(timeout: .seconds(5)) { _ in } }
            }
            let lines = page.text.split(separator: "\n").filter { $0.hasPrefix("ble_connect_failures_total{") }
            #expect(lines == [#"ble_connect_failures_total{peripheral="4C:00:00:00:00:01"} 2"#])
        }
    }

    @Test(arguments: [false, true])
    func `no address keeps the commands of a session that has left it`(isFound: Bool) async throws {
        let diary = Diary()
        try await Bench.run { bench in
            try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true, interrupting: true)
            let central = try await Central.open(.radio(bench.centralAdapter).reporting(to: diary))
            let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000)))
            try await central.withSession(plan) { session in
                try await session.ready()
                let long = session.queue.enqueue(
                    CommandBlock<Void>("long") { _ in try await bench.time.sleep(for: .seconds(60)) }
                )
                try await bench.time.sleep(for: .seconds(1))
                await session.disconnect()
                bench.peripheralAdapter.renewPrivateAddress()
                if !isFound { bench.air.faults.add(.outOfRange()) }
                try session.connect()
                if isFound { try await session.ready() }
                try await long.value
            }
        }
        var numbers: [BluetoothAddress: [Int]] = [:]
        for event in diary.all {
            if case .queue(let count) = event.kind, let peripheral = event.peripheral {
                numbers[peripheral, default: []].append(count)
            }
        }
        #expect(numbers.count == (isFound ? 2 : 1) && numbers.values.contains([1, 0]), "\(diary.words)")
        #expect(numbers.values.allSatisfy { $0.last == 0 }, "\(diary.words)")
    }

    @Test func `the links of those that are counted together are counted`() {
        let page = MetricsPage()
        func tell(_ number: UInt64, _ kind: Central.Event.Kind) {
            let peripheral = BluetoothAddress(rawValue: number, kind: .public)
            let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
            page.handle(Central.Event(kind, of: peripheral, at: time))
        }
        var lines: [Substring] {
            page.text.split(separator: "\n").filter { $0.hasPrefix(#"ble_links{peripheral="other""#) }
        }
        for number in 1...258 { tell(UInt64(number), .connected(after: .zero)) }
        #expect(lines == [#"ble_links{peripheral="other"} 2"#])
        tell(258, .disconnected(DisconnectReason(.closedLocally), after: .zero))
        #expect(lines == [#"ble_links{peripheral="other"} 1"#])
        // Links that were never established, of which nobody was told that they are up.
        let neverUp = DisconnectReason(.failedToEstablish)
        for number in 259...300 { tell(UInt64(number), .disconnected(neverUp, after: .zero)) }
        #expect(lines == [#"ble_links{peripheral="other"} 1"#])
    }

    @Test func `the commands of those that are counted together are added up, and no signal stands for all of them`() {
        let page = MetricsPage()
        func tell(_ number: UInt64, _ kind: Central.Event.Kind) {
            let peripheral = BluetoothAddress(rawValue: number, kind: .public)
            let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
            page.handle(Central.Event(kind, of: peripheral, at: time))
        }
        var lines: [Substring] { page.text.split(separator: "\n").filter { $0.contains(#"{peripheral="other"}"#) } }
        for number in 1...256 { tell(UInt64(number), .queue(1)) }
        #expect(lines == [])
        tell(257, .queue(3))
        tell(258, .queue(1))
        tell(258, .signal(-40))
        #expect(lines == [#"ble_queue_commands{peripheral="other"} 4"#])
        tell(258, .queue(0))
        #expect(lines == [#"ble_queue_commands{peripheral="other"} 3"#])
        tell(257, .queue(0))
        #expect(lines == [#"ble_queue_commands{peripheral="other"} 0"#])
    }

    @Test func `an operation that fails is told with its error, without values`() async throws {
        let diary = Diary()
        try await Bench.run { bench in
            let peripheral = try await Self.opened(bench, diary)
            try await peripheral.withLink { link in
                _ = await bleError { _ = try await link.read(BluetoothUUID(0xDEAD)) }
                _ = await bleError { try await link.write([1], to: Bench.readOnly) }
            }
        }
        let errors = diary.all.compactMap { event -> BLEError? in
            if case .operation(_, _, let error) = event.kind { error } else { nil }
        }
        #expect(errors.map(\.operation) == ["read", "write"], "\(diary.words)")
        #expect(errors.map(\.code) == [.notFound, .notSupported], "\(diary.words)")
        #expect(errors.allSatisfy { $0.received == nil && $0.receivedParts.isEmpty })
    }

    @Test func `a link that is lost, and found again, is told at notice, and for how long it was away`() async throws {
        let diary = Diary()
        try await Bench.run(serve: Bench.sendNumbers(1000)) { bench in
            bench.air.faults.add(.dropLink(after: 5, .notifications))
            let central = try await Central.open(.radio(bench.centralAdapter).reporting(to: diary))
            let plan = Session.Plan(central.peripheral(bench.peripheralAdapter.address)).subscribing(
                to: Bench.notifying
            )
            try await central.withSession(plan) { session in
                _ = try await session.notifications(of: Bench.notifying).timeout(.seconds(60)).prefix(20).collect()
            }
        }
        let names = diary.all.map(Self.name)
        #expect(names.filter { $0 == "reconnected" }.count == 1, "\(names)")
        let lost = diary.all.filter { Self.name($0) == "disconnected" && $0.level == .notice }
        #expect(lost.count == 1)
        let absences = diary.all.compactMap { event -> Duration? in
            if case .reconnected(let away) = event.kind { away } else { nil }
        }
        #expect(absences.count == 1 && absences.allSatisfy { $0 > .zero && $0 < .seconds(60) })
    }

    @Test func `a peripheral that isn't there is told once for each who waited`() async throws {
        let diary = Diary()
        try await Bench.run { bench in
            bench.air.faults.add(.ignoreConnections)
            let peripheral = try await Self.opened(bench, diary)
            _ = await bleError { try await peripheral.withLink(timeout: .seconds(7)) { _ in } }
        }
        let failures = diary.all.compactMap { event -> (BLEError.Code, Duration)? in
            if case .connectFailed(let error, let after) = event.kind { (error.code, after) } else { nil }
        }
        #expect(failures.count == 1 && failures.first?.0 == .timedOut && failures.first?.1 == .seconds(7))
    }

    @Test func `a handler of joined adapters hears of all of them, and several handlers hear the same`() async throws {
        let (first, second) = (Diary(), Diary())
        try await Bench.run { bench in
            let choice = AdapterChoice.joined([.radio(bench.centralAdapter), .radio(bench.air.adapter())])
            let central = try await Central.open(choice.reporting(to: first).reporting(to: second))
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                _ = try await link.read(Bench.readable)
            }
        }
        #expect(first.words.count > 2 && first.words == second.words)
        #expect(first.all.map(Self.name).contains("disconnected"))
    }

    @Test func `a handler of several adapters that are joined is told once`() async throws {
        let page = MetricsPage()
        try await Bench.run { bench in
            let adapters = [bench.centralAdapter, bench.air.adapter()]
            let central = try await Central.open(.joined(adapters.map { .radio($0).reporting(to: page) }))
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                _ = try await link.read(Bench.readable)
            }
        }
        #expect(page.text.contains("ble_connect_seconds_count 1\n"), "\(page.text)")
        #expect(page.text.contains("ble_operation_seconds_count{operation=\"read\"} 1\n"), "\(page.text)")
    }

    @Test func `a metrics page counts what has happened, in lines that Prometheus reads`() async throws {
        let page = MetricsPage()
        try await Bench.run(serve: Bench.sendNumbers(1000)) { bench in
            bench.air.faults.add(.dropLink(after: 5, .notifications))
            let central = try await Central.open(.radio(bench.centralAdapter).reporting(to: page))
            let plan = Session.Plan(central.peripheral(bench.peripheralAdapter.address)).subscribing(
                to: Bench.notifying
            )
            try await central.withSession(plan) { session in
                _ = try await session.notifications(of: Bench.notifying).timeout(.seconds(60)).prefix(20).collect()
                _ = try await session.read(Bench.readable)
                #expect(page.text.contains("ble_links{peripheral=\"\(bench.peripheralAdapter.address)\"} 1\n"))
            }
        }
        let text = page.text
        let lines = text.split(separator: "\n").map(String.init)
        let number = try Regex("[a-z_]+(\\{[a-z]+=\"[^\"]*\"(,le=\"[^\"]+\")?\\})? -?[0-9.e+-]+")
        for line in lines where !line.hasPrefix("# ") { #expect(line.wholeMatch(of: number) != nil, "\(line)") }
        for line in lines where line.hasPrefix("# TYPE") {
            #expect(["counter", "gauge", "histogram"].contains { line.hasSuffix($0) }, "\(line)")
        }
        #expect(lines.contains { $0.hasPrefix("ble_reconnects_total{") && $0.hasSuffix(" 1") }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("ble_operation_seconds_count{operation=\"read\"} 1") }, "\(text)")
        #expect(lines.contains("ble_connect_seconds_count 2"), "\(text)")
        #expect(lines.contains("ble_session_failures_total 0"))
    }

    @Test func `a name of an operation stays within its label, whatever characters it has`() {
        let page = MetricsPage()
        let name = "a\r\nb\"\u{301}c\\\u{301}d"
        let time = ReceptionTime(sinceEpoch: .zero, source: .simulation)
        page.handle(Central.Event(.operation(name, took: .zero, error: nil), at: time))
        let label = "{operation=\"a\r\\nb\\\"\u{301}c\\\\\u{301}d\"} 1"
        // By octets: as characters, the two scalars of a line end are no line end.
        let lines = page.text.utf8.split(separator: UInt8(ascii: "\n")).map { Array($0) }
        #expect(lines.contains(Array("ble_operation_seconds_count\(label)".utf8)))
    }

    @Test func `a page stays bounded among thousands of peripherals`() {
        let page = MetricsPage()
        for number in 0..<5000 as Range<UInt64> {
            page.handle(
                Central.Event(
                    .values(1),
                    of: BluetoothAddress(rawValue: number, kind: .random),
                    at: ReceptionTime(sinceEpoch: .zero, source: .simulation)
                )
            )
        }
        #expect(page.text.split(separator: "\n").count { $0.hasPrefix("ble_values_total{") } == 257)
        #expect(page.text.contains("ble_values_total{peripheral=\"other\"} 4744\n"))
    }
}
