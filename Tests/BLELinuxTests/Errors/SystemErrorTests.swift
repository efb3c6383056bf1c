import BLEProtocol
import Glibc
import Testing

@testable import BLELinux

@Suite struct SystemErrorTests {
    @Test func `says its name and its number`() {
        #expect(SystemError(rawValue: EHOSTDOWN).description == "Host is down (errno 112)")
        #expect(SystemError(rawValue: 4095).description == "errno 4095")
    }

    @Test func `is what the failing call has left`() {
        #expect(throws: SystemError(rawValue: ENOENT)) { _ = try FileDescriptor.openForReading("/nowhere/at/all") }
        #expect(throws: SystemError(rawValue: EBADF)) { try systemCall { close(-1) } }
    }

    @Test func `an interrupted call is made again`() throws {
        var calls = 0
        let value = try systemCall { () -> Int32 in
            calls += 1
            errno = EINTR
            return calls < 3 ? -1 : 7
        }
        #expect(value == 7)
        #expect(calls == 3)
    }
}
