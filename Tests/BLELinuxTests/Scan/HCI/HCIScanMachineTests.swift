import Testing

@testable import BLELinux

@Suite struct HCIScanMachineTests {
    private typealias Output = HCIScanMachine.Output

    /// What Read Local Supported Commands returns behind its status; octet 37 tells of extended scanning.
    private func commands(extended: Bool) -> ArraySlice<UInt8> {
        var octets = [UInt8](repeating: 0, count: 64)
        octets[37] = extended ? 0x60 : 0x00
        return octets[...]
    }

    private func scanning(extended: Bool = false) -> HCIScanMachine {
        let generation: HCIScanMachine.Generation = extended ? .extended : .legacy
        var machine = HCIScanMachine()
        #expect(machine.begin() == Output(command: .readSupportedCommands))
        #expect(
            machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: extended))
                == Output(command: .setParameters(generation))
        )
        #expect(
            machine.commandEnded(opcode: extended ? 0x2041 : 0x200B, status: 0, returned: [])
                == Output(command: .enable(generation))
        )
        #expect(
            machine.commandEnded(opcode: extended ? 0x2042 : 0x200C, status: 0, returned: [])
                == Output(report: .listening)
        )
        return machine
    }

    @Test(arguments: [false, true])
    func `uses the commands that the kernel uses on that controller`(_ extended: Bool) {
        var machine = scanning(extended: extended)
        #expect(machine.cancel() == Output(command: .disable(extended ? .extended : .legacy)))
        #expect(machine.cancel() == Output())
    }

    @Test func `where it scans already that scan is listened to, and left alone`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: false))
        #expect(machine.commandEnded(opcode: 0x200B, status: 0x0C, returned: []) == Output(report: .listening))
        #expect(machine.cancel() == Output())
    }

    @Test func `when somebody has changed the scan it starts again once they are quiet`() {
        var machine = scanning()
        #expect(machine.commandEnded(opcode: 0x200C, status: 0, returned: []) == Output(timer: HCIScanMachine.quiet))
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(timer: HCIScanMachine.quiet))
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
    }

    @Test func `while the kernel connects no command is sent`() {
        var machine = scanning()
        _ = machine.commandEnded(opcode: 0x200C, status: 0, returned: [])
        #expect(machine.commandStarted(opcode: 0x200D) == Output())
        #expect(machine.timerFired() == Output(timer: HCIScanMachine.connectDeadline))
        #expect(machine.connectionAttemptEnded() == Output(timer: HCIScanMachine.quiet))
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
    }

    @Test func `a connection whose end goes unseen does not end the scan for ever`() {
        var machine = scanning()
        _ = machine.commandEnded(opcode: 0x200C, status: 0, returned: [])
        _ = machine.commandStarted(opcode: 0x2043)
        #expect(machine.timerFired() == Output(timer: HCIScanMachine.connectDeadline))
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
    }

    @Test func `other commands of other programs are none of its business`() {
        var machine = scanning()
        #expect(machine.commandEnded(opcode: 0x0406, status: 0, returned: []) == Output())
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output())
        #expect(machine.connectionAttemptEnded() == Output())
        #expect(machine.timerFired() == Output())
    }

    @Test func `a refusal for another reason ends it`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.commandEnded(opcode: 0x1002, status: 0x01, returned: [])
        #expect(machine.commandEnded(opcode: 0x200B, status: 0x12, returned: []) == Output(report: .failed(0x12)))
        #expect(machine.cancel() == Output())
    }
}
