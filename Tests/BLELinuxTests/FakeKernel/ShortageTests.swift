import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// What a program is told when the machine, or the program itself, has run out of something, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct ShortageTests {
    @Test(arguments: [
        (EMFILE, "LimitNOFILE"), (ENFILE, "fs.file-max"), (ENOMEM, "Free some memory"), (ENOBUFS, "Free some memory"),
    ])
    func `a central that can't be accepted is told, with how to get more of what has run out`(
        _ error: Int32,
        _ remedy: String
    ) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let (central, peripheral) = (try run.radio(), try run.radio(run.kernel.peripheral))
        let events = FakeRun.Collector<ListenEvent>()
        let listening = peripheral.listen { events.add($0) }
        let advertisement = try await run.advertise(peripheral)
        run.kernel.with { $0.fault = SystemFault(call: .accept, number: 1, effect: .keepsFailing(error)) }
        let address = try #require(peripheral.adapterInfo.address)
        // For the kernel it is connected, and waits to be accepted.
        let link = try await run.connect(central, to: address)
        let told = try await events.first("the shortage", in: run) { event -> BLEError? in
            if case .interrupted(let failure) = event { failure } else { nil }
        }
        #expect(told.systemError == error && told.remedy.contains(remedy))
        link.disconnect()
        advertisement.cancel()
        listening.cancel()
    }

    /// The scan's call that fails: to look whether it may scan, to open the adapter, to hear it, to command it.
    @Test(arguments: [SystemCall.bind, .hciOpen, .hciFilter, .hciCommand])
    func `a scan by HCI for which there is no memory doesn't ask for a permission`(_ call: SystemCall) async throws {
        let run = FakeRun(kernel: FakeKernel { $0.isAdministrator = false })
        let radio = try run.radio()
        run.kernel.with { $0.fault = SystemFault(call: call, number: 1, effect: .keepsFailing(ENOMEM)) }
        let events = FakeRun.Collector<ScanEvent>()
        let scan = radio.scan(ScanRequest()) { events.add($0) }
        await run.kernel.idle()
        let failures = events.all.compactMap { if case .failed(let error) = $0 { error } else { nil } }
        #expect(failures.map(\.code) == [.systemFailure] && failures.first?.systemError == ENOMEM)
        #expect(failures.first?.remedy.contains("Free some memory") == true)
        scan.cancel()
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM, ENOBUFS])
    func `who may open nothing more is not told to grant itself a permission`(_ error: Int32) async throws {
        var failures: [BLEError] = []
        // Each of the sockets of an advertisement: of the adapter, of the management, of notes.
        for number in 1...8 {
            let run = FakeRun(kernel: FakeKernel())
            run.kernel.with { $0.fault = SystemFault(call: .socket, number: number, effect: .fails(error)) }
            do {
                try await run.advertise(run.radio()).cancel()
            } catch let failure as BLEError {
                failures.append(failure)
            }
            _ = await run.kernel.run(run.timeline, within: FakeRun.patience) { false }
            #expect(run.kernel.leftovers.isEmpty && run.timeline.running == 0)
        }
        #expect(failures.count >= 2)
        for failure in failures {
            #expect(failure.code == .systemFailure && failure.systemError == error)
            #expect(!failure.object.isEmpty && !failure.remedy.isEmpty)
        }
    }

    /// As where memory has run out, and in a service whose address families don't include local sockets.
    @Test(arguments: [ENOMEM, ENOBUFS, EAFNOSUPPORT, EPERM])
    func `what is on the air is no leftover where nothing tells whether its program still runs`(
        _ error: Int32
    ) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        run.kernel.with { $0.fail(.socket, .keepsFailing(error)) }
        // A scan first removes what ended programs have left.
        let scan = radio.scan(ScanRequest(isActive: false)) { _ in }
        await run.kernel.idle()
        let instances = run.kernel.with { [number = run.kernel.central] in $0.adapters[number]?.instances.count }
        #expect(instances == 1)
        scan.cancel()
        advertisement.cancel()
        await run.kernel.idle()
        let left = run.kernel.with { [number = run.kernel.central] in $0.adapters[number]?.instances.count }
        #expect(left == 0)
    }

    /// The note of what is on the air could not be claimed, and nobody holds it.
    @Test(arguments: [EMFILE, ENOMEM])
    func `what went on the air during a shortage is no leftover when that is over`(_ error: Int32) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let radio = try run.radio()
        await run.kernel.idle()
        run.kernel.with { $0.fail(.socket, .keepsFailing(error)) }
        let advertisement = try await run.advertise(radio)
        run.kernel.with { $0.fault = nil }
        let scan = radio.scan(ScanRequest(isActive: false)) { _ in }
        await run.kernel.idle()
        let instances = run.kernel.with { [number = run.kernel.central] in $0.adapters[number]?.instances.count }
        #expect(instances == 1)
        scan.cancel()
        advertisement.cancel()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [EMFILE, ENOMEM])
    func `keys that this program can't claim are not said to be another program's`(_ error: Int32) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let radio = try run.radio()
        await run.kernel.idle()
        run.kernel.with { $0.fault = SystemFault(call: .socket, number: 1, effect: .keepsFailing(error)) }
        let outcome: Result<Void, BLEError> = try await run.first("restoring") {
            radio.restore([], result: $0)
        } _: {
            $0
        }.value
        #expect(outcome.failure?.code == .systemFailure && outcome.failure?.systemError == error)
        #expect(outcome.failure?.cause.contains("another program") == false)
        // Nothing is left of that: the next try has them.
        run.kernel.with { $0.fault = nil }
        try await run.result("restoring") { radio.restore([], result: $0) }
        #expect(run.kernel.with { $0.names.count } == 1)
        withExtendedLifetime(radio) {}
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM])
    func `what a running program has in the kernel is not taken for left while no socket can be had`(
        _ error: Int32
    ) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let radio = try run.radio()
        let advertisement = try await run.advertise(radio)
        let facts = try #require(radio.adapter.facts)
        for isShort in [false, true] {
            if isShort { run.kernel.with { $0.fail(.socket, .keepsFailing(error)) } }
            #expect(radio.leftovers.left(on: facts).isEmpty, "short: \(isShort)")
            #expect(radio.leftovers.held(on: facts).map(\.kind) == [.advertisement], "short: \(isShort)")
        }
        run.kernel.with { $0.fault = nil }
        advertisement.cancel()
        await run.kernel.idle()
        withExtendedLifetime(radio) {}
    }

    /// For lack of descriptors, or where a service may have no local sockets at all.
    @Test(arguments: [EMFILE, EAFNOSUPPORT])
    func `an advertisement that could not be claimed is not taken for left by its own program`(
        _ error: Int32
    ) async throws {
        let run = FakeRun(kernel: FakeKernel())
        let radio = try run.radio()
        await run.kernel.idle()
        run.kernel.with { $0.fail(.socket, .keepsFailing(error)) }
        let advertisement = try await run.advertise(radio)
        let facts = try #require(radio.adapter.facts)
        for isShort in [true, false] {
            if !isShort { run.kernel.with { $0.fault = nil } }
            #expect(radio.leftovers.left(on: facts).isEmpty, "short: \(isShort)")
            #expect(radio.leftovers.held(on: facts).map(\.kind) == [.advertisement], "short: \(isShort)")
        }
        advertisement.cancel()
        await run.kernel.idle()
        #expect(radio.leftovers.held(on: facts).isEmpty)
        withExtendedLifetime(radio) {}
    }

    /// The files that say what the processes are.
    @Test(arguments: [EMFILE, ENFILE, ENOMEM], 1...2)
    func `a bluetoothd is not said to be absent where a process can't be looked at`(_ error: Int32, _ number: Int) {
        let kernel = FakeKernel { $0.files["/proc/77/comm"] = Array("bluetoothd\n".utf8) }
        kernel.with { $0.fault = SystemFault(call: .open, number: number, effect: .fails(error)) }
        #expect(Bluetoothd.presenceByProcesses(on: kernel.kernel) == (number == 2 ? .unknown : .here))
        #expect(Bluetoothd.presenceByProcesses(on: kernel.kernel) == .here)
    }

    /// Each of the files that say what the process may do, and where it runs.
    @Test(arguments: [EMFILE, ENFILE, ENOMEM], 1...6)
    func `the rights of a process are not complete where a file can't be read`(_ error: Int32, _ number: Int) {
        let kernel = FakeKernel()
        kernel.with { $0.fault = SystemFault(call: .open, number: number, effect: .fails(error)) }
        #expect(!ProcessRights(of: kernel.kernel).isComplete)
        #expect(ProcessRights(of: kernel.kernel).isComplete)
    }

    @Test(arguments: [SystemCall.open, .epollControl])
    func `a radio switch for which there was no descriptor at first is watched once there is one`(
        _ call: SystemCall
    ) async throws {
        let run = FakeRun(kernel: FakeKernel { $0.files["/dev/rfkill"] = [] })
        let (kernel, number) = (run.kernel, run.kernel.central)
        let adapter = try LinuxAdapter(kernel.name(number), of: kernel.kernel)
        let loop = try EventLoop(name: "test", on: kernel.kernel)
        kernel.with { $0.fail(call, .keepsFailing(ENOMEM)) }
        let watch = AdapterWatch(adapter, management: nil, loop: loop, timeline: run.timeline)
        let states = FakeRun.Collector<AdapterInfo.State>()
        let observation = watch.observe { states.add($0.state) }
        await kernel.idle()
        kernel.with { $0.fault = nil }
        let isWatched = await kernel.run(run.timeline, within: .seconds(10)) {
            kernel.with { $0.objects.values.contains { if case .file = $0.kind { true } else { false } } }
        }
        #expect(isWatched && states.all == [.poweredOn])
        kernel.with { state in
            state.adapters[number]?.settings.remove(.powered)
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("\(kernel.name(number))\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/hard"] = Array("1\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/soft"] = Array("0\n".utf8)
            for (descriptor, object) in state.objects {
                if case .file = object.kind { state.deliver([UInt8](repeating: 0, count: 8), to: descriptor) }
            }
        }
        await kernel.idle()
        #expect(states.all == [.poweredOn, .blocked] && run.timeline.running == 0)
        observation.cancel()
        withExtendedLifetime(watch) {}
    }

    /// The sockets that list the adapters, look at one, and manage it.
    @Test(arguments: 1...3)
    func `an adapter that can't be opened for want of descriptors joins once there are some`(_ number: Int) async throws
    {
        let run = FakeRun(kernel: FakeKernel())
        let roster = try AdapterRoster(mayBeMissing: false, on: run.kernel.kernel, timeline: run.timeline)
        let names = FakeRun.Collector<String>()
        run.kernel.with { $0.fail(.socket, .keepsFailing(EMFILE), at: number) }
        let watch = roster.observe { names.add($0.adapterName) }
        await run.kernel.idle()
        #expect(names.all.isEmpty)
        run.kernel.with { $0.fault = nil }
        let (central, peripheral) = (run.kernel.name(run.kernel.central), run.kernel.name(run.kernel.peripheral))
        let areThere = await run.kernel.run(run.timeline, within: .seconds(10)) {
            names.all.contains(central) && names.all.contains(peripheral)
        }
        #expect(areThere && names.all.count == 2)
        watch.cancel()
    }

    @Test func `all adapters for which there is no thread are not said to lack a socket`() {
        let run = FakeRun(kernel: FakeKernel { $0.fail(.threadStart, .fails(EAGAIN)) })
        do {
            _ = try AdapterRoster(mayBeMissing: false, on: run.kernel.kernel, timeline: run.timeline)
            Issue.record("opened")
        } catch {
            #expect(error.code == .systemFailure && error.cause.contains("starting the event loop"))
            #expect(error.remedy.contains("TasksMax") && !error.cause.contains("socket"))
        }
    }
}
