import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(2)))
struct KernelConnectTests {
    private func connect(
        _ radio: LinuxRadio,
        _ peer: BluetoothAddress
    ) async throws -> (link: any ATTLink, receiver: LinkRecorder) {
        let result = Events { radio.connect(to: peer, result: $0) }
        let link = try #require(await result.next()).get()
        let receiver = LinkRecorder()
        link.start(receiver)
        return (link, receiver)
    }

    @Test func `connects by address and exchanges PDUs`() async throws {
        try KernelLab.peer("reset")
        let radio = try LinuxRadio(adapter: KernelLab.central)
        let (link, receiver) = try await connect(radio, KernelLab.near)
        #expect(try link.peer == KernelLab.near)
        #expect(link.local == radio.adapter.facts?.address)
        #expect(!link.isResumed)
        #expect(link.maximumPDUSize == 672)
        #expect(link.security == .none)

        // Exchange MTU: 517 offered, the peer's answer opens with opcode 3.
        #expect(link.send([0x02, 0x05, 0x02]) == .sent)
        guard case .received(let answer) = await receiver.next() else {
            Issue.record("no answer")
            return
        }
        #expect(answer.first == 0x03)
        #expect(answer.count == 3)
        #expect(receiver.times.first?.source == .kernel)

        link.disconnect()
        #expect(link.send([0x0A, 0x03, 0x00]) == .ended)
        #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
    }
}
