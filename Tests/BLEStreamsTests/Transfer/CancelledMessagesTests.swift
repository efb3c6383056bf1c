import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Testing

/// Messages that are taken in a task that is cancelled.
@Suite(.timeLimit(.minutes(10))) struct CancelledMessagesTests {
    /// A link that cancels the task that accepts a write, while it does so, once it is told to.
    private final class CancellingLink: ATTLink {
        private let inner: any ATTLink
        private let isDue: Flag

        var peer: BluetoothAddress { inner.peer }
        var local: BluetoothAddress? { inner.local }
        var maximumPDUSize: Int { inner.maximumPDUSize }
        var isResumed: Bool { inner.isResumed }
        var security: LinkSecurity { inner.security }

        init(_ inner: any ATTLink, _ isDue: Flag) { (self.inner, self.isDue) = (inner, isDue) }

        func start(_ receiver: any ATTLinkReceiver) { inner.start(receiver) }

        func send(_ pdu: [UInt8]) -> SendResult {
            if isDue.isSet, pdu == [0x13] { withUnsafeCurrentTask { $0?.cancel() } }
            return inner.send(pdu)
        }

        func disconnect() { inner.disconnect() }

        func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { inner.readRSSI(result) }
    }

    private struct CancellingRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let isDue: Flag

        func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
            radio.listen { event in
                guard case .accepted(let link) = event else { return events(event) }
                events(.accepted(CancellingLink(link, isDue)))
            }
        }
    }

    @Test func `a message is taken whose last chunk is accepted while the task is cancelled`() async throws {
        let (isDue, taken) = (Flag(), Recorder<[UInt8]>())
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let central = try await Central.open(.radio(air.adapter()))
            let radio = CancellingRadio(radio: air.adapter(), isDue: isDue)
            try await MessageBench.description.run(on: .radio(radio)) { server in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) {
                            for try await message in server.messages(to: MessageBench.inbound) {
                                taken.add(message.octets)
                            }
                        }
                    }
                    try await central.peripheral(radio.radio.address).withLink { link in
                        try await link.write([1, 2], to: MessageBench.inbound)
                        isDue.set()
                        try await link.write(Array("EOM".utf8), to: MessageBench.inbound)
                    }
                    // The task is cancelled: it ends by itself.
                    try await group.waitForAll()
                }
            }
        }
        #expect(taken.all == [[1, 2]])
    }
}
