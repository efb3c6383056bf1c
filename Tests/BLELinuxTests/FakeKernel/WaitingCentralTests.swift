import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// A central that the kernel has connected, and that waits to be accepted while the program may open nothing more, on a
/// kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct WaitingCentralTests {
    private struct Bench {
        let run: FakeRun
        let peripheral: LinuxRadio
        let events: FakeRun.Collector<ListenEvent>
        /// The central's end.
        let link: any ATTLink
        private let central: LinuxRadio
        private let activities: [RadioActivity]

        init() async throws {
            let (run, events) = (FakeRun(kernel: FakeKernel()), FakeRun.Collector<ListenEvent>())
            let (central, peripheral) = (try run.radio(), try run.radio(run.kernel.peripheral))
            let listening = peripheral.listen { events.add($0) }
            let advertisement = try await run.advertise(peripheral)
            run.kernel.with { $0.fault = SystemFault(call: .accept, number: 1, effect: .keepsFailing(EMFILE)) }
            link = try await run.connect(central, to: try #require(peripheral.adapterInfo.address))
            await run.kernel.idle()
            (self.run, self.events, self.central, self.peripheral) = (run, events, central, peripheral)
            activities = [listening, advertisement]
        }

        /// How many sockets listen.
        var listeners: Int {
            run.kernel.with { state in
                state.objects.values.filter { if case .listening? = $0.l2cap?.phase { true } else { false } }.count
            }
        }

        /// Lets the program open descriptors again, and returns what was told until the central is accepted.
        func accept() async throws -> [BLEError.Code] {
            run.kernel.with { $0.fault = nil }
            _ = try await events.first("accepting", in: run) { event -> Bool? in
                if case .accepted = event { true } else { nil }
            }
            link.disconnect()
            for activity in activities { activity.cancel() }
            await run.kernel.idle()
            return events.all.compactMap { if case .interrupted(let error) = $0 { error.code } else { nil } }
        }
    }

    @Test func `it is never said to be another program's, and is accepted in the end`() async throws {
        let bench = try await Bench()
        _ = await bench.run.kernel.run(bench.run.timeline, within: ListeningPlace.patience * 3) { false }
        #expect(try await bench.accept() == [.systemFailure])
    }

    @Test func `it keeps its place when the server listens anew, since another program has changed the adapter`()
        async throws
    {
        let bench = try await Bench()
        let kernel = bench.run.kernel
        kernel.with { [number = kernel.peripheral] state in
            state.tell(number, 0x06, FakeState.octets(state.adapters[number]?.settings.rawValue ?? 0))
        }
        await kernel.idle()
        #expect(bench.listeners == 2)
        #expect(try await bench.accept() == [.systemFailure])
    }
}
