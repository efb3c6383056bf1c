import BLEProtocol
import BLERadio
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

    /// As where the kernel uses the legacy ones, since the others are known to be broken.
    @Test(arguments: [0x01, 0x0C] as [UInt8])
    func `where the extended commands are refused the legacy ones are used`(_ status: UInt8) {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: true))
        var connecting = machine
        let legacy = Output(command: .setParameters(.legacy))
        #expect(machine.commandEnded(opcode: 0x2041, status: status, returned: []) == legacy)
        var disallowed = machine
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(command: .enable(.legacy)))
        #expect(machine.commandEnded(opcode: 0x200C, status: 0, returned: []) == Output(report: .listening))
        #expect(machine.cancel() == Output(command: .disable(.legacy)))
        // It scans already.
        #expect(disallowed.commandEnded(opcode: 0x200B, status: 0x0C, returned: []) == Output(report: .listening))
        #expect(disallowed.cancel() == Output())
        // Not while the kernel connects.
        _ = connecting.commandStarted(opcode: 0x2043)
        let later = Output(timer: HCIScanMachine.quiet)
        #expect(connecting.commandEnded(opcode: 0x2041, status: status, returned: []) == later)
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

    // MARK: - An attempt that began before the scan

    @Test func `a scan that begins while the kernel connects sends nothing before that is over`() {
        var machine = HCIScanMachine()
        #expect(machine.begin(whileConnecting: true) == Output(timer: HCIScanMachine.presumedConnect))
        #expect(machine.connectionAttemptEnded() == Output(timer: HCIScanMachine.quiet))
        #expect(machine.timerFired() == Output(command: .readSupportedCommands))
    }

    @Test func `where somebody is heard the kernel only waits, unless its command comes at once`() {
        var machine = HCIScanMachine()
        _ = machine.begin(whileConnecting: true)
        #expect(machine.heard() == Output(timer: HCIScanMachine.quiet))
        // The timer that runs isn't put off by all who are heard.
        #expect(machine.heard() == Output())
        var connecting = machine
        #expect(machine.timerFired() == Output(command: .readSupportedCommands))
        _ = connecting.commandStarted(opcode: 0x200D)
        #expect(connecting.timerFired() == Output(timer: HCIScanMachine.connectDeadline))
        #expect(connecting.connectionAttemptEnded() == Output(timer: HCIScanMachine.quiet))
        #expect(connecting.timerFired() == Output(command: .readSupportedCommands))
    }

    @Test func `an attempt that waits for its peer for long does not hold the scan up for long`() {
        var machine = HCIScanMachine()
        _ = machine.begin(whileConnecting: true)
        #expect(machine.timerFired() == Output(command: .readSupportedCommands))
        #expect(machine.heard() == Output())
    }

    @Test func `a kernel that sets up its scan makes no connection`() {
        var machine = HCIScanMachine()
        _ = machine.begin(whileConnecting: true)
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(timer: HCIScanMachine.quiet))
        #expect(machine.heard() == Output())
    }

    @Test func `a connection that begins between two commands of the scan is left in peace`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.commandStarted(opcode: 0x200D)
        let asked = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: false))
        #expect(asked == Output(timer: HCIScanMachine.quiet))
        #expect(machine.connectionAttemptEnded() == Output(timer: HCIScanMachine.quiet))
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
        _ = machine.commandStarted(opcode: 0x200D)
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(timer: HCIScanMachine.quiet))
        #expect(machine.cancel() == Output())
    }

    // MARK: - Missing events

    @Test func `a scan whose end may have been missed is started again`() {
        var machine = scanning()
        #expect(machine.missedEvents() == Output(timer: HCIScanMachine.presumedConnect))
        // Where many are missing, that puts nothing off.
        #expect(machine.missedEvents() == Output())
        #expect(machine.heard() == Output(timer: HCIScanMachine.quiet))
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(command: .enable(.legacy)))
        #expect(machine.commandEnded(opcode: 0x200C, status: 0, returned: []) == Output(report: .listening))
    }

    @Test(arguments: [false, true])
    func `a scan that goes on in spite of missing events is this one still, and ends with it`(_ isKnown: Bool) {
        var machine = scanning(extended: true)
        _ = machine.missedEvents()
        if isKnown {
            #expect(machine.timerFired() == Output(command: .setParameters(.extended)))
            #expect(machine.commandEnded(opcode: 0x2041, status: 0x0C, returned: []) == Output(report: .listening))
        }
        #expect(machine.cancel() == Output(command: .disable(.extended)))
    }

    @Test func `a legacy scan that may have ended is started again where the extended commands are refused`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: true))
        _ = machine.commandEnded(opcode: 0x2041, status: 0x0C, returned: [])
        _ = machine.commandEnded(opcode: 0x200B, status: 0, returned: [])
        #expect(machine.commandEnded(opcode: 0x200C, status: 0, returned: []) == Output(report: .listening))
        _ = machine.missedEvents()
        #expect(machine.timerFired() == Output(command: .setParameters(.extended)))
        let legacy = Output(command: .setParameters(.legacy))
        #expect(machine.commandEnded(opcode: 0x2041, status: 0x0C, returned: []) == legacy)
        var scanning = machine
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(command: .enable(.legacy)))
        // It goes on, and is this one still.
        #expect(scanning.commandEnded(opcode: 0x200B, status: 0x0C, returned: []) == Output(report: .listening))
        #expect(scanning.cancel() == Output(command: .disable(.legacy)))
    }

    @Test func `another program's scan is left alone, also where events are missing`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: false))
        _ = machine.commandEnded(opcode: 0x200B, status: 0x0C, returned: [])
        #expect(machine.missedEvents() == Output(timer: HCIScanMachine.presumedConnect))
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
        #expect(machine.commandEnded(opcode: 0x200B, status: 0x0C, returned: []) == Output(report: .listening))
        #expect(machine.cancel() == Output())
    }

    @Test func `a command whose answer may be missing is sent again`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        #expect(machine.missedEvents() == Output(timer: HCIScanMachine.presumedConnect))
        #expect(machine.missedEvents() == Output())
        #expect(machine.timerFired() == Output(command: .readSupportedCommands))
        let asked = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: false))
        #expect(asked == Output(command: .setParameters(.legacy)))
        _ = machine.missedEvents()
        #expect(machine.timerFired() == Output(command: .setParameters(.legacy)))
        _ = machine.commandEnded(opcode: 0x200B, status: 0, returned: [])
        _ = machine.missedEvents()
        #expect(machine.timerFired() == Output(command: .enable(.legacy)))
        #expect(machine.commandEnded(opcode: 0x200C, status: 0, returned: []) == Output(report: .listening))
        #expect(machine.timerFired() == Output())
    }

    // MARK: - A silent controller

    @Test func `a command without any answer is named, and one that was answered is not`() {
        var machine = HCIScanMachine()
        #expect(machine.answerOverdue() == Output())
        _ = machine.begin()
        #expect(machine.answerOverdue() == Output(report: .silent(0x1002)))
        _ = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: true))
        #expect(machine.answerOverdue() == Output(report: .silent(0x2041)))
        _ = machine.commandEnded(opcode: 0x2041, status: 0, returned: [])
        #expect(machine.answerOverdue() == Output(report: .silent(0x2042)))
        var answered = machine
        _ = answered.commandEnded(opcode: 0x2042, status: 0, returned: [])
        #expect(answered.answerOverdue() == Output())
        // The controller may do it yet.
        #expect(machine.cancel() == Output(command: .disable(.extended)))
        #expect(machine.answerOverdue() == Output())
    }

    @Test func `a command whose answer may have been missed is sent again before it is given up`() {
        var machine = HCIScanMachine()
        _ = machine.begin()
        _ = machine.missedEvents()
        #expect(machine.answerOverdue() == Output())
        #expect(machine.timerFired() == Output(command: .readSupportedCommands))
        #expect(machine.answerOverdue() == Output(report: .silent(0x1002)))
    }

    // MARK: - Under whose address

    private static let adapter = AdapterFacts(
        number: 0,
        address: BluetoothAddress(rawValue: 0xF0, kind: .public),
        flags: 1,
        features: []
    )

    @Test(
        arguments: [
            (true, ManagementSettings.powered, .active(.public)),
            (true, [.powered, .privacy], .active(.random)),
            (true, [.powered, .staticAddress], .active(.random)),
            // Nothing is known of it.
            (true, nil, .active(.random)),
            (false, [.powered, .privacy], .passive), (false, .powered, .passive), (false, nil, .passive),
        ] as [(Bool, ManagementSettings?, HCIScanMachine.Manner)]
    )
    func `an active scan keeps the host's address to itself where the host does`(
        _ isActive: Bool,
        _ settings: ManagementSettings?,
        _ manner: HCIScanMachine.Manner
    ) {
        #expect(HCIScanMachine.Manner(ScanRequest(isActive: isActive), Self.adapter, settings) == manner)
    }

    @Test func `a controller without a public address uses its random one`() {
        var adapter = Self.adapter
        adapter.address = BluetoothAddress(rawValue: 0, kind: .public)
        #expect(HCIScanMachine.Manner(ScanRequest(), adapter, .powered) == .active(.random))
    }

    @Test(arguments: [false, true])
    func `where the controller has no random address nothing is sent`(_ isRefusedAtOnce: Bool) {
        var machine = HCIScanMachine(.active(.random))
        _ = machine.begin()
        _ = machine.commandEnded(opcode: 0x1002, status: 0, returned: commands(extended: false))
        if !isRefusedAtOnce { _ = machine.commandEnded(opcode: 0x200B, status: 0, returned: []) }
        let opcode: UInt16 = isRefusedAtOnce ? 0x200B : 0x200C
        #expect(
            machine.commandEnded(opcode: opcode, status: 0x12, returned: []) == Output(command: .setParameters(.legacy))
        )
        #expect(machine.manner == .passive)
        #expect(machine.commandEnded(opcode: 0x200B, status: 0, returned: []) == Output(command: .enable(.legacy)))
        #expect(machine.commandEnded(opcode: 0x200C, status: 0, returned: []) == Output(report: .listening))
    }
}
