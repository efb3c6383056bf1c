import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An adapter that this program has switched off, and that is unplugged then: its number may be another's next.
///
/// What was switched off is known for the whole program, by its name: no other test has these numbers.
@Suite struct SwitchedOffNumberTests {
    private static let address = 0x00AA_0101_0001

    private let table = TableDouble()

    /// An adapter that was seen, and then switched off by this program.
    private func switchedOff(_ number: UInt16) throws -> LinuxAdapter {
        table.plug(number, Self.address)
        let adapter = try LinuxAdapter("hci\(number)", socket: nil, refusal: nil, table: table)
        #expect(adapter.isUp)
        table.power(number, false)
        SwitchedHere.insert("hci\(number)")
        #expect(cause(adapter).contains("this program itself"))
        return adapter
    }

    private func cause(_ adapter: LinuxAdapter) -> String {
        adapter.whyUnusable(for: "connect", object: "a peer").cause
    }

    @Test func `the adapter that gets the number was not switched off by this program`() throws {
        let former = try switchedOff(90)
        table.unplug(90)
        #expect(former.facts == nil)
        table.plug(90, Self.address + 1)
        table.power(90, false)
        let next = try LinuxAdapter("hci90", socket: nil, refusal: nil, table: table)
        #expect(cause(next) == "the adapter hci90 is switched off")
        // What the program does with that one is no matter of the one that is away.
        SwitchedHere.insert("hci90")
        #expect(former.facts == nil)
        #expect(cause(next).contains("this program itself"))
    }

    @Test(arguments: [(91, 91), (92, 93)] as [(UInt16, UInt16)])
    func `the adapter itself, which was plugged in again unseen, is off by itself`(
        _ former: UInt16,
        _ next: UInt16
    ) throws {
        let adapter = try switchedOff(former)
        table.unplug(former)
        table.plug(next, Self.address)
        table.power(next, false)
        #expect(cause(adapter) == "the adapter hci\(next) is switched off")
        #expect(!SwitchedHere.contains("hci\(former)"))
    }
}
