import BLEProtocol
import BLERadio
import Glibc
import RadioContract
import Synchronization
import Testing

@testable import BLELinux

/// The radio on a kernel in memory: what it does where all goes well.
@Suite(.timeLimit(.minutes(10))) struct FakeRadioTests {
    private let kernel = FakeKernel { $0.peers[.example] = FakePeer(address: .example) }
    private let timeline = StepTimeline()

    private func radio() throws -> LinuxRadio {
        try LinuxRadio(adapter: kernel.name(kernel.central), on: kernel.kernel, timeline: timeline)
    }

    @Test func `a scan hears, a connection stands, and PDUs go both ways`() async throws {
        do {
            let radio = try radio()
            let scan = Events { radio.scan(ScanRequest(), events: $0) }
            let heard = await scan.first { event -> BluetoothAddress? in
                if case .reports(let reports) = event { reports.first?.address } else { nil }
            }
            #expect(heard == .example)
            scan.activity.cancel()
            let attempt = Events { radio.connect(to: .example, result: $0) }
            let link = try #require(try await attempt.next()?.get())
            let receiver = LinkRecorder()
            link.start(receiver)
            #expect(link.send([0x0A, 1, 0]) == .sent)
            #expect(await receiver.next() == .received([0x0A, 1, 0]))
            link.disconnect()
            #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
        }
        await kernel.idle()
        #expect(kernel.leftovers.isEmpty && timeline.running == 0)
    }

    @Test(arguments: [
        (ECONNRESET, DisconnectReason.Kind.closedByPeer), (ETIMEDOUT, .supervisionTimeout),
        (EACCES, .authenticationFailed),
    ])
    func `what came before the end is delivered, though the error comes first`(
        _ error: Int32,
        _ kind: DisconnectReason.Kind
    ) async throws {
        let run = FakeRun(kernel: kernel)
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        await kernel.idle()
        kernel.with { state in
            guard let link = state.link(of: kernel.central, with: .example) else { return }
            for number in 0..<3 { state.deliver([0x1B, UInt8(number), 0], to: link.socket) }
            state.end(link.socket, error: error)
        }
        #expect(try await end.end(in: run).kind == kind)
        let pdus = end.events.all.compactMap { event -> [UInt8]? in
            if case .received(let pdu) = event { pdu } else { nil }
        }
        #expect(pdus == [[0x1B, 0, 0], [0x1B, 1, 0], [0x1B, 2, 0]])
    }

    /// Advertises what only a new controller can send, on a kernel whose thread has yet to remove what is replaced.
    private func advertiseMuch(
        _ interval: ClosedRange<Duration>?
    ) async throws -> (radio: LinuxRadio, advertisement: RadioActivity) {
        kernel.with { state in
            state.adapters[kernel.central]?.advertisingRoom = 251
            state.adapters[kernel.central]?.removals = []
        }
        let run = FakeRun(kernel: kernel)
        let radio = try run.radio()
        let long = AdvertiseRequest([.localName(String(repeating: "n", count: 40))], interval: interval)
        let (_, advertisement) = try await run.first("advertising") {
            radio.advertise(long, events: $0)
        } _: { event -> Bool? in
            if case .failed(let error) = event { throw error }
            return true
        }
        return (radio, advertisement)
    }

    /// What is on air.
    private var advertised: [[UInt8]]? { kernel.with { $0.adapters[kernel.central]?.instances.values.map(\.data) } }

    private func carryOutRemovals() async {
        kernel.with { $0.carryOutRemovals(of: kernel.central) }
        await kernel.idle()
    }

    @Test(arguments: [nil, .milliseconds(100) ... .milliseconds(150)] as [ClosedRange<Duration>?])
    func `a short advertisement follows one that only a new controller could send, once that is gone`(
        _ interval: ClosedRange<Duration>?
    ) async throws {
        let (radio, advertisement) = try await advertiseMuch(interval)
        let change = FakeRun.Collector<Result<Void, BLEError>>()
        advertisement.change(to: AdvertiseRequest([.localName("n")], interval: interval)) { change.add($0) }
        await kernel.idle()
        #expect(change.all.isEmpty)
        await carryOutRemovals()
        let outcome = try #require(change.all.first)
        try outcome.get()
        #expect(advertised == [[2, 9, 0x6E]])
        advertisement.cancel()
        await carryOutRemovals()
        #expect(advertised == [])
        withExtendedLifetime(radio) {}
    }

    @Test func `one that ends while it is replaced is not put up again`() async throws {
        let (radio, advertisement) = try await advertiseMuch(nil)
        advertisement.change(to: AdvertiseRequest([.localName("n")])) { _ in }
        await kernel.idle()
        advertisement.cancel()
        await carryOutRemovals()
        #expect(advertised == [])
        withExtendedLifetime(radio) {}
    }

    @Test func `a peer that another socket of this host has is busy, and the error says so`() async throws {
        let run = FakeRun(kernel: kernel)
        let (first, second) = (try run.radio(), try run.radio())
        let end = FakeRun.End(try await run.connect(first, to: .example))
        do {
            _ = try await run.connect(second, to: .example)
            Issue.record("two links to one peer")
        } catch let error as BLEError {
            #expect(error.code == .busy && !error.remedy.isEmpty)
        }
        end.link.disconnect()
        _ = try await end.end(in: run)
    }

    /// A link that is full, since its other end has not been started: nothing is read there.
    private struct FullLink {
        let here: FakeRun.End
        let there: any ATTLink
        let radios: [LinuxRadio]
        let activities: [RadioActivity]
    }

    private func fullLink(in run: FakeRun) async throws -> FullLink {
        kernel.with { $0.peers = [:] }
        let (central, peripheral) = (try run.radio(), try run.radio(kernel.peripheral))
        let listener = FakeRun.Collector<ListenEvent>()
        let listening = peripheral.listen { listener.add($0) }
        let advertisement = try await run.advertise(peripheral)
        let here = FakeRun.End(try await run.connect(central, to: try #require(peripheral.adapterInfo.address)))
        let there = try await listener.first("accepting", in: run) { event -> (any ATTLink)? in
            if case .accepted(let link) = event { link } else { nil }
        }
        var sent = 0
        while here.link.send([0x52, UInt8(sent), 0]) == .sent { sent += 1 }
        #expect(sent == 76)
        return FullLink(
            here: here,
            there: there,
            radios: [central, peripheral],
            activities: [listening, advertisement]
        )
    }

    @Test func `a link that is full takes PDUs again, in order`() async throws {
        let run = FakeRun(kernel: kernel)
        let link = try await fullLink(in: run)
        let (here, far) = (link.here, FakeRun.End(link.there))
        #expect(try await here.send([0x52, 76, 0], in: run))
        await kernel.idle()
        let pdus = far.events.all.compactMap { event -> UInt8? in
            if case .received(let pdu) = event { pdu[1] } else { nil }
        }
        #expect(pdus == Array(0...76))
        here.link.disconnect()
        _ = try await (here.end(in: run), far.end(in: run))
        for activity in link.activities { activity.cancel() }
    }

    /// The other end of a full link takes so many PDUs.
    private func take(_ count: Int) async {
        kernel.with { [central = kernel.central, peripheral = kernel.peripheral] state in
            guard let address = state.adapters[peripheral]?.address,
                let far = state.link(of: central, with: address)?.link.far
            else { return }
            state.objects[far]?.inbox.removeFirst(count)
        }
        await kernel.idle()
    }

    @Test func `a link that is full tells of room when half is free, and takes PDUs before that`() async throws {
        let run = FakeRun(kernel: kernel)
        let link = try await fullLink(in: run)
        await take(10)
        #expect(link.here.events.all.isEmpty)
        for number in 76..<UInt8(86) { #expect(link.here.link.send([0x52, number, 0]) == .sent) }
        #expect(link.here.link.send([0x52, 86, 0]) == .full)
        await take(38)
        #expect(link.here.events.all.isEmpty)
        await take(1)
        #expect(link.here.events.all.contains { if case .writable = $0 { true } else { false } })
        #expect(link.here.link.send([0x52, 86, 0]) == .sent)
        link.here.link.disconnect()
        _ = try await link.here.end(in: run)
        for activity in link.activities { activity.cancel() }
    }

    @Test func `an adapter that a switch blocks says so`() async throws {
        kernel.with { state in
            state.adapters[kernel.central]?.settings.remove(.powered)
            state.files["/sys/class/rfkill/rfkill0/name"] = Array("\(kernel.name(kernel.central))\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/hard"] = Array("0\n".utf8)
            state.files["/sys/class/rfkill/rfkill0/soft"] = Array("1\n".utf8)
        }
        #expect(try radio().adapterInfo.state == .blocked)
    }

    @Test func `a radio that is let go leaves nothing`() async throws {
        _ = try radio()
        await kernel.idle()
        #expect(kernel.leftovers.isEmpty && timeline.running == 0)
    }
}

/// The radio on a kernel in memory keeps the contract of all radios.
@Suite(.timeLimit(.minutes(10))) struct FakeContractTests {
    @Test(arguments: RadioClause.all)
    func `a radio keeps it`(_ clause: RadioClause) async throws {
        let kernel = FakeKernel()
        let timeline = DrainedTimeline()
        let address = kernel.with { $0.adapters[kernel.peripheral]?.address }
        let third = kernel.peripheral + 1000
        kernel.with { state in
            let address = BluetoothAddress(rawValue: 0x00AA_0200_0000 | UInt64(third), kind: .public)
            state.adapters[third] = FakeAdapter(number: third, address: address)
        }
        do {
            func radio(_ number: UInt16) throws -> LinuxRadio {
                try LinuxRadio(adapter: kernel.name(number), on: kernel.kernel, timeline: timeline)
            }
            let central = try radio(kernel.central)
            let stage = RadioStage(
                central: central,
                peripheral: try radio(kernel.peripheral),
                address: try #require(address),
                otherCentral: try radio(third),
                power: { isOn in
                    let outcome = Events { central.setPowered(isOn, result: $0) }
                    try await outcome.next()?.get()
                }
            )
            try await clause.check(stage)
        }
        await kernel.idle()
        timeline.drain()
        await kernel.idle()
        #expect(kernel.leftovers.isEmpty)
    }
}
