import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct ManagementFailureTests {
    /// The error of a program that the kernel refuses, with the lines of its status and its control group.
    private func error(_ status: String, in group: String, _ marks: [String] = []) throws -> BLEError {
        let kernel = FakeKernel { state in
            state.links["/proc/self/exe"] = "/opt/gateway"
            state.files["/proc/self/status"] = Array("Name:\tgateway\n\(status)\n".utf8)
            state.files["/proc/self/cgroup"] = Array("\(group)\n".utf8)
            for mark in marks { state.files[mark] = [] }
        }
        let adapter = try LinuxAdapter(kernel.name(kernel.central), of: kernel.kernel)
        let failure = ManagementFailure.status(.permissionDenied, .startDiscovery)
        return failure.error(operation: "scan", object: "hci0", adapter: adapter)
    }

    private static let session = "0::/user.slice/user-1000.slice/session-3.scope"

    @Test func `a missing permission names the capability and the command that grants it`() throws {
        let error = try error("NoNewPrivs:\t0", in: Self.session)
        #expect(error.code == .permissionDenied)
        #expect(error.cause.contains("CAP_NET_ADMIN"))
        #expect(error.remedy.contains("sudo setcap 'cap_net_admin+ep' /opt/gateway"))
        #expect(!error.remedy.contains("no_new_privs"))
    }

    @Test(arguments: ["system.slice", "radio.slice"])
    func `a service gets a missing permission by its unit, in any slice`(_ slice: String) throws {
        let error = try error("NoNewPrivs:\t1", in: "0::/\(slice)/gateway.service")
        #expect(error.remedy.contains("systemctl edit gateway.service"))
        #expect(error.remedy.contains("AmbientCapabilities=CAP_NET_ADMIN"))
        #expect(!error.remedy.contains("setcap"))
    }

    @Test func `a service that lacks what its unit grants is told what has replaced it`() throws {
        let unit = "0::/system.slice/gateway.service"
        let replaced = try error("CapInh:\t0000000000003000\nCapEff:\t0000000000002000", in: unit)
        let command = "\"sudo setcap -r /opt/gateway\", then \"sudo systemctl restart gateway.service\""
        #expect(replaced.remedy.contains(command), "\(replaced.remedy)")
        #expect(!replaced.remedy.contains("AmbientCapabilities"))
        let lacking = try error("CapInh:\t0000000000002000\nCapEff:\t0000000000002000", in: unit)
        #expect(lacking.remedy.contains("AmbientCapabilities=CAP_NET_ADMIN"), "\(lacking.remedy)")
    }

    @Test func `a container gets a missing permission from what starts it`() throws {
        let error = try error("NoNewPrivs:\t0", in: "0::/", ["/.dockerenv"])
        #expect(error.remedy.contains("--cap-add=NET_ADMIN") && error.remedy.contains("setcap"))
        // There, a capability of the file has no effect.
        let strict = try self.error("NoNewPrivs:\t1", in: "0::/", ["/.dockerenv"])
        #expect(strict.remedy.contains("--cap-add=NET_ADMIN") && !strict.remedy.contains("setcap"))
    }

    @Test func `where a program can gain no privileges the remedy says so first`() throws {
        let unit = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/gateway.service"
        for group in [Self.session, unit] {
            let error = try error("NoNewPrivs:\t1", in: group)
            #expect(error.remedy.hasPrefix("Start it without no_new_privs"), "\(error.remedy)")
            #expect(error.remedy.contains("setcap"))
        }
    }

    @Test(arguments: [ManagementStatus.notSupported, .unknownCommand])
    func `what can't succeed is not to be tried again`(_ status: ManagementStatus) throws {
        let kernel = FakeKernel()
        let adapter = try LinuxAdapter(kernel.name(kernel.central), of: kernel.kernel)
        let failure = ManagementFailure.status(status, .startDiscovery)
        let error = failure.error(operation: "scan", object: "hci0", adapter: adapter)
        #expect(error.code == .notSupported && error.isFinal)
        #expect(error.remedy.hasPrefix("Use ") && !error.remedy.lowercased().contains("again"), "\(error)")
    }

    @Test(arguments: [
        ManagementOpcode.startDiscovery, .startServiceDiscovery, .addAdvertising, .addExtendedAdvertisingParameters,
    ])
    func `what is rejected since Low Energy is off says so, and how to switch it on`(
        _ opcode: ManagementOpcode
    ) throws {
        let kernel = FakeKernel()
        let name = kernel.name(kernel.central)
        let adapter = try LinuxAdapter(name, of: kernel.kernel)
        let failure = ManagementFailure.status(.rejected, opcode)
        let error = failure.error(operation: "scan", object: name, adapter: adapter)
        #expect(error.code == .notSupported && error.cause == "Low Energy is switched off on \(name)")
        #expect(error.remedy.contains("btmgmt --index \(name) le on") && !error.remedy.contains("powerCycle"))
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
