import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter that another program has for itself: the kernel shows it as on, and takes no commands for it; on a kernel
/// in memory.
@Suite(.timeLimit(.minutes(10))) struct TakenAdapterTests {
    private let run = FakeRun(
        kernel: FakeKernel { state in
            state.peers[.example] = FakePeer(address: .example)
            for number in state.adapters.keys { state.adapters[number]?.isTaken = true }
        }
    )

    /// The error of what must fail.
    private func error(_ body: (LinuxRadio) async throws -> Void) async throws -> BLEError? {
        let radio = try run.radio()
        do {
            try await body(radio)
        } catch let error as BLEError {
            return error
        }
        return nil
    }

    private func expectTaken(_ error: BLEError?, by operation: String) {
        #expect(error?.code == .busy && error?.operation == operation, "\(String(describing: error))")
        #expect(error?.cause.contains("another program has \(run.kernel.name(run.kernel.central))") == true)
        #expect(error?.remedy.hasPrefix("End that program") == true && error?.isFinal == false)
    }

    @Test func `a connection says so`() async throws {
        expectTaken(try await error { _ = try await run.connect($0, to: .example) }, by: "connect")
    }

    @Test func `an advertisement says so`() async throws {
        expectTaken(try await error { try await run.advertise($0).cancel() }, by: "advertise")
    }

    @Test func `switching it on says so`() async throws {
        let error = try await error { radio in
            try await run.result("switching on") { radio.setPowered(true, result: $0) }
        }
        expectTaken(error, by: "switch on")
    }

    @Test(arguments: [true, false], [true, false])
    func `a scan says so, and sends the controller nothing`(_ isActive: Bool, _ isAdministrator: Bool) async throws {
        run.kernel.with { $0.isAdministrator = isAdministrator }
        expectTaken(try await error { try await run.hear($0, ScanRequest(isActive: isActive)) }, by: "scan")
        #expect(run.kernel.with { $0.calls[.hciCommand] } == nil)
    }
}
