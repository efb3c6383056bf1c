import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Whether this program may pair at all, on a kernel in memory: the kernel gives every program a management socket, and
/// refuses the command only.
@Suite(.timeLimit(.minutes(10))) struct PairingObstacleTests {
    /// The program's capabilities as the kernel shows them, and whether the program may pair.
    @Test(arguments: [("0000000000002000", false), ("0000000000003000", true), (nil, true)] as [(String?, Bool)])
    func `a program without CAP_NET_ADMIN is told how to get it, before it asks the adapter`(
        _ capabilities: String?,
        _ mayPair: Bool
    ) async throws {
        let kernel = FakeKernel { state in
            state.links["/proc/self/exe"] = "/opt/gateway"
            if let capabilities { state.files["/proc/self/status"] = Array("CapEff:\t\(capabilities)\n".utf8) }
        }
        let obstacle = try FakeRun(kernel: kernel).radio().pairingObstacle
        await kernel.idle()
        #expect((obstacle == nil) == mayPair)
        if let obstacle {
            #expect(obstacle.code == .permissionDenied && obstacle.cause.contains("CAP_NET_ADMIN"))
            #expect(obstacle.remedy.contains("sudo setcap 'cap_net_admin,cap_net_raw+ep' /opt/gateway"))
        }
    }

    @Test func `a program within a user namespace may not pair, whatever it may do there`() async throws {
        let kernel = FakeKernel { state in
            state.files["/proc/self/status"] = Array("CapEff:\t000001ffffffffff\n".utf8)
            state.files["/proc/self/uid_map"] = Array("         0       1000          1\n".utf8)
        }
        let obstacle = try FakeRun(kernel: kernel).radio().pairingObstacle
        await kernel.idle()
        #expect(obstacle?.code == .permissionDenied && obstacle?.remedy.contains("user namespace") == true)
    }
}
