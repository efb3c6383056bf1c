import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// Links on which the kernel sends nothing, on a kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct FakeSendingTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })
    private let pdu: [UInt8] = [0x0A, 3, 0]

    /// Fails what is sent from now on.
    private func fail(_ effect: SystemFault.Effect) {
        run.kernel.with { $0.fail(.send, effect) }
    }

    @Test(arguments: [ENOTCONN, ENOBUFS, ENOMEM, EMSGSIZE])
    func `a link that is open and takes nothing ends, and says with which error`(_ error: Int32) async throws {
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        fail(.keepsFailing(error))
        #expect(try await end.send(pdu, in: run) == false)
        let reason = try await end.end(in: run)
        #expect(reason == DisconnectReason(.other, systemError: error))
        #expect(!run.kernel.with { $0.isSpinning })
    }

    @Test func `a link whose other end is said to be gone ends, whatever else the kernel says`() async throws {
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        fail(.keepsFailing(EPIPE))
        #expect(try await end.send(pdu, in: run) == false)
        #expect(try await end.end(in: run).kind == .closedByPeer)
    }

    @Test func `what came before the start is delivered before the end of a link that takes nothing`() async throws {
        let link = try await run.connect(run.radio(), to: .example)
        #expect(link.send(pdu) == .sent)
        fail(.keepsFailing(ENOTCONN))
        #expect(link.send(pdu) == .ended)
        let end = FakeRun.End(link)
        #expect(try await end.pdu(in: run) == pdu)
        #expect(try await end.end(in: run).systemError == ENOTCONN)
    }

    @Test func `a link that is not connected for a moment takes the PDU`() async throws {
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        fail(.fails(ENOTCONN))
        #expect(end.link.send(pdu) == .sent)
        #expect(try await end.pdu(in: run) == pdu)
        end.link.disconnect()
        #expect(try await end.end(in: run).kind == .closedLocally)
    }

    @Test func `a link that is being secured is full until that has ended, and nothing spins meanwhile`() async throws {
        let end = FakeRun.End(try await run.connect(run.radio(), to: .example))
        run.kernel.secure(.example, true)
        #expect(end.link.send(pdu) == .full)
        await run.kernel.idle()
        #expect(end.events.all.isEmpty && !run.kernel.with { $0.isSpinning })
        run.kernel.secure(.example, false)
        #expect(try await end.send(pdu, in: run))
        #expect(try await end.pdu(in: run) == pdu)
        end.link.disconnect()
        _ = try await end.end(in: run)
    }
}

extension FakeKernel {
    /// The kernel begins to raise the security of a link, or has done so.
    fileprivate func secure(_ peer: BluetoothAddress, _ isSecuring: Bool) {
        with { state in
            guard let link = state.link(of: central, with: peer) else { return }
            state.objects[link.socket]?.l2cap?.isSecuring = isSecuring
        }
    }
}
