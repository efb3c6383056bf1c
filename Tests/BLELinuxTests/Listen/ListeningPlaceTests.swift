import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct ListeningPlaceTests {
    private typealias Output = ListeningPlace.Output

    private static let one = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private static let other = BluetoothAddress(rawValue: 0xC4F2_171A_1DBC, kind: .random)

    private static func timer(_ id: Int) -> Output {
        Output(timer: Output.Timer(id: id, delay: ListeningPlace.patience))
    }

    @Test func `a central that nobody has offered was taken by another program`() {
        var place = ListeningPlace()
        #expect(place.centralCame(Self.one) == Self.timer(1))
        #expect(place.timerFired(1) == Output(renews: true, lost: Self.one))
        #expect(place.timerFired(1) == Output())
    }

    @Test func `one that is offered is nobody else's, whichever of the two is told first`() {
        var place = ListeningPlace()
        #expect(place.centralCame(Self.one) == Self.timer(1))
        place.accepted(Self.one)
        #expect(place.timerFired(1) == Output())
        place.accepted(Self.other)
        #expect(place.centralCame(Self.other) == Output())
    }

    @Test func `one that may wait to be accepted is nobody else's while nothing can be accepted`() {
        var place = ListeningPlace()
        #expect(place.centralCame(Self.one) == Self.timer(1))
        for _ in 0..<3 { #expect(place.timerFired(1, whileInterrupted: true) == Self.timer(1)) }
        #expect(place.timerFired(1) == Output(renews: true, lost: Self.one))
        #expect(place.centralCame(Self.other) == Self.timer(2))
        #expect(place.timerFired(2, whileInterrupted: true) == Self.timer(2))
        place.accepted(Self.other)
        #expect(place.timerFired(2, whileInterrupted: true) == Output())
    }

    @Test func `what was said of a link holds until it ends`() {
        var place = ListeningPlace()
        place.accepted(Self.one)
        place.centralLeft(Self.one)
        #expect(place.centralCame(Self.one) == Self.timer(1))
        place.centralLeft(Self.one)
        #expect(place.timerFired(1) == Output())
    }

    @Test func `where the kernel reports nothing, only the last ones offered are remembered`() {
        var place = ListeningPlace()
        place.accepted(Self.one)
        for number in UInt64(0)..<1000 {
            place.accepted(BluetoothAddress(rawValue: 0x4000_0000_0000 + number, kind: .random))
        }
        place.accepted(Self.other)
        #expect(place.centralCame(Self.other) == Output())
        #expect(place.centralCame(Self.one) == Self.timer(1))
    }

    @Test func `a central that is offered again and again takes one place`() {
        var place = ListeningPlace()
        place.accepted(Self.one)
        for _ in 0..<1000 { place.accepted(Self.other) }
        #expect(place.centralCame(Self.one) == Output())
        #expect(place.centralCame(Self.other) == Output())
        #expect(place.centralCame(Self.other) == Self.timer(1))
    }

    @Test func `the place is taken anew when others act, and when nobody knows what was missed`() {
        var place = ListeningPlace()
        #expect(place.othersActed() == Output(renews: true))
        #expect(place.centralCame(Self.one) == Self.timer(1))
        #expect(place.missedEvents() == Output(renews: true))
        #expect(place.timerFired(1) == Output())
    }
}
