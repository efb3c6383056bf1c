import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Who has a link that the kernel gives to one program, and what to do about it.
@Suite struct ConnectFailureTests {
    private let run = FakeRun(kernel: FakeKernel())

    private func busy() throws -> BLEError {
        ConnectFailure(adapter: try run.radio().adapter, peer: .example).error(atOnce: .busy)
    }

    @Test func `where no bluetoothd runs, bluetoothctl is no remedy`() throws {
        let error = try busy()
        #expect(error.code == .busy && !error.description.contains("bluetooth"))
        #expect(error.remedy.contains("end the program that has the link"))
    }

    @Test func `a bluetoothd may have it, also one that is not to be seen`() throws {
        run.kernel.with { $0.files["/proc/1/comm"] = nil }
        #expect(try busy().remedy.contains("bluetoothctl disconnect"))
        run.kernel.with { $0.files["/proc/77/comm"] = Array("bluetoothd\n".utf8) }
        let error = try busy()
        #expect(error.cause.contains("bluetoothd") && error.remedy.contains("bluetoothctl disconnect"))
    }

    @Test func `a link that the controller alone has is named, with what ends it`() throws {
        let error = ConnectFailure(adapter: try run.radio().adapter, peer: .example).error(later: .already)
        #expect(error.code == .connectionFailed && error.systemError == SystemError.already.rawValue)
        #expect(error.cause.contains("still has a link to it") && error.remedy.contains("Central.powerCycle()"))
    }
}
