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

    @Test func `what was said of a link holds until it ends`() {
        var place = ListeningPlace()
        place.accepted(Self.one)
        place.centralLeft(Self.one)
        #expect(place.centralCame(Self.one) == Self.timer(1))
        place.centralLeft(Self.one)
        #expect(place.timerFired(1) == Output())
    }

    @Test func `the place is taken anew when others act, and when nobody knows what was missed`() {
        var place = ListeningPlace()
        #expect(place.othersActed() == Output(renews: true))
        #expect(place.centralCame(Self.one) == Self.timer(1))
        #expect(place.missedEvents() == Output(renews: true))
        #expect(place.timerFired(1) == Output())
    }
}
