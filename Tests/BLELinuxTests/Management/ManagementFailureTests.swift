import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct ManagementFailureTests {
    @Test func `a missing permission names the capability and the command that grants it`() {
        let error = BLEError.missingCapability(.networkAdministration, operation: "scan", object: "hci0")
        #expect(error.code == .permissionDenied)
        #expect(error.cause.contains("CAP_NET_ADMIN"))
        let program = destination(ofLink: "/proc/self/exe") ?? "?"
        #expect(error.remedy.contains("sudo setcap 'cap_net_admin+ep' \(program)"))
    }

    @Test func `an answer is what the command's type says`() throws {
        // Start Discovery answered with success and its type, 06.
        let reply = ManagementReply(
            opcode: .startDiscovery,
            index: ManagementIndex(rawValue: 0),
            status: .success,
            parameters: [0x06]
        )
        let result = ManagementFailure.result(of: ManagementStartDiscovery.self, .replied(reply))
        #expect(try result.get().type == .lowEnergy)
    }

    @Test func `an answer that is too short is a failure`() {
        let reply = ManagementReply(
            opcode: .startDiscovery,
            index: ManagementIndex(rawValue: 0),
            status: .success,
            parameters: []
        )
        let result = ManagementFailure.result(of: ManagementStartDiscovery.self, .replied(reply))
        guard case .failure(.broken(.startDiscovery, _)) = result else {
            Issue.record("\(result)")
            return
        }
    }

    @Test func `a status, a timeout and a closed socket are told apart`() {
        let busy = ManagementReply(opcode: .startDiscovery, index: ManagementIndex(rawValue: 0), status: .busy)
        #expect(
            ManagementFailure.result(of: ManagementStartDiscovery.self, .replied(busy)).failure
                == .status(.busy, .startDiscovery)
        )
        #expect(
            ManagementFailure.result(of: ManagementStartDiscovery.self, .timedOut).failure
                == .timedOut(.startDiscovery)
        )
        #expect(
            ManagementFailure.result(of: ManagementStartDiscovery.self, .closed).failure
                == .broken(.startDiscovery, "the management socket was closed")
        )
    }
}
