import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// The rules of `AdapterChoice.joined(_:)`, one by one.
@Suite struct AdapterChooserTests {
    private static let peer = BluetoothAddress(rawValue: 0xC0DE_0000_0001, kind: .random)
    private static let other = BluetoothAddress(rawValue: 0xC0DE_0000_0002, kind: .random)

    private static func address(_ adapter: Int) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0x00AA_0100_0000 + UInt64(adapter), kind: .public)
    }

    private static func info(_ adapter: Int, _ state: AdapterInfo.State = .poweredOn) -> AdapterInfo {
        AdapterInfo(name: "hci\(adapter)", address: state == .absent ? nil : address(adapter), state: state)
    }

    private func chooser(_ count: Int = 3) -> AdapterChooser {
        var chooser = AdapterChooser()
        for adapter in 0..<count { chooser.isNow(Self.info(adapter), adapter) }
        return chooser
    }

    /// The order in which all would be tried.
    private func order(_ chooser: AdapterChooser, at now: Duration, _ peer: BluetoothAddress = peer) -> [Int] {
        var order: [Int] = []
        while let next = chooser.choice(for: peer, at: now, except: Set(order)) { order.append(next) }
        return order
    }

    @Test func `nothing known, the order of the adapters decides`() {
        #expect(order(chooser(), at: .seconds(1)) == [0, 1, 2])
    }

    @Test func `the one that hears best comes first, those that hear nothing last, for as long as that is news`() {
        var chooser = chooser()
        chooser.heard(Self.peer, -80, by: 1, at: .seconds(1))
        chooser.heard(Self.peer, -60, by: 2, at: .seconds(1))
        #expect(order(chooser, at: .seconds(12)) == [2, 1, 0])
        #expect(order(chooser, at: .seconds(13)) == [0, 1, 2])
        #expect(order(chooser, at: .seconds(1), Self.other) == [0, 1, 2])
    }

    @Test func `a strength that isn't known is the least of those that hear`() {
        var chooser = chooser()
        chooser.heard(Self.peer, nil, by: 1, at: .seconds(1))
        chooser.heard(Self.peer, -120, by: 2, at: .seconds(1))
        #expect(order(chooser, at: .seconds(2)) == [2, 1, 0])
    }

    @Test func `the kind of an address makes no other peripheral of it`() {
        var chooser = chooser()
        chooser.heard(BluetoothAddress(rawValue: Self.peer.rawValue, kind: .public), -60, by: 1, at: .seconds(1))
        #expect(order(chooser, at: .seconds(2)) == [1, 0, 2])
    }

    @Test func `one that had no slot, and later waits in vain, doesn't hear it any more`() {
        var chooser = chooser()
        chooser.refused(Self.peer, by: 0, at: .seconds(1))
        chooser.waitedInVain(for: Self.peer, by: 1, at: .seconds(6))
        #expect(chooser.refusers(of: Self.peer) == [0])
        chooser.waitedInVain(for: Self.peer, by: 0, at: .seconds(18))
        #expect(chooser.refusers(of: Self.peer).isEmpty)
    }

    @Test(arguments: [(-54, 1), (-55, 1), (-56, 0), (-60, 0)])
    func `the one of the last link keeps it unless another is better by six dB`(_ rssi: Int, _ expected: Int) {
        var chooser = chooser(2)
        chooser.linked(to: Self.peer, by: 0, at: .zero)
        chooser.unlinked(0)
        chooser.heard(Self.peer, -61, by: 0, at: .seconds(1))
        chooser.heard(Self.peer, Int8(rssi), by: 1, at: .seconds(1))
        #expect(chooser.choice(for: Self.peer, at: .seconds(2)) == expected)
    }

    @Test func `who heard it before its last link tells nothing of where it is now`() {
        var chooser = chooser(2)
        chooser.heard(Self.peer, -50, by: 0, at: .seconds(1))
        chooser.linked(to: Self.peer, by: 0, at: .seconds(2))
        chooser.unlinked(0)
        // It has moved, and all listen before one is chosen.
        #expect(chooser.listeners(for: Self.peer, at: .seconds(3)) == [0, 1])
        chooser.heard(Self.peer, -80, by: 1, at: .seconds(4))
        #expect(chooser.choice(for: Self.peer, at: .seconds(4)) == 1)
    }

    @Test func `a later adapter of the last link keeps it too`() {
        var chooser = chooser(2)
        chooser.linked(to: Self.peer, by: 1, at: .zero)
        for (adapter, rssi) in [(0, Int8(-56)), (1, -61)] {
            chooser.heard(Self.peer, rssi, by: adapter, at: .seconds(1))
        }
        #expect(chooser.choice(for: Self.peer, at: .seconds(2)) == 1)
        chooser.heard(Self.peer, -55, by: 0, at: .seconds(2))
        #expect(chooser.choice(for: Self.peer, at: .seconds(2)) == 0)
    }

    @Test func `unheard, the one of the last link comes first`() {
        var chooser = chooser()
        chooser.linked(to: Self.peer, by: 2, at: .zero)
        #expect(order(chooser, at: .seconds(1)) == [2, 0, 1])
    }

    @Test func `one that can't be used is never chosen, and is again when it is back`() {
        var chooser = chooser(2)
        chooser.heard(Self.peer, -40, by: 0, at: .zero)
        for state in AdapterInfo.State.allCases where state != .poweredOn {
            chooser.isNow(Self.info(0, state), 0)
            #expect(order(chooser, at: .seconds(1)) == [1])
        }
        chooser.isNow(Self.info(0), 0)
        #expect(order(chooser, at: .seconds(1)) == [0, 1])
    }

    @Test func `a refusal tells the limit, which holds until a link ends or for a minute`() {
        var chooser = chooser(2)
        for number in 0..<3 {
            let peer = BluetoothAddress(rawValue: 0xC0DE_0000_0010 + UInt64(number), kind: .random)
            chooser.linked(to: peer, by: 0, at: .zero)
        }
        chooser.heard(Self.peer, -40, by: 0, at: .zero)
        chooser.heard(Self.peer, -90, by: 1, at: .zero)
        #expect(order(chooser, at: .zero) == [0, 1])
        chooser.refused(by: 0, at: .seconds(1))
        #expect(order(chooser, at: .seconds(2)) == [1, 0])
        chooser.unlinked(0)
        #expect(order(chooser, at: .seconds(2)) == [0, 1])
        chooser.linked(to: Self.other, by: 0, at: .seconds(3))
        #expect(order(chooser, at: .seconds(60)) == [1, 0])
        #expect(order(chooser, at: .seconds(61)) == [0, 1])
    }

    @Test func `an adapter that was off has no limit any more`() {
        var chooser = chooser(2)
        chooser.refused(by: 0, at: .zero)
        #expect(order(chooser, at: .seconds(1)) == [1, 0])
        chooser.isNow(Self.info(0, .absent), 0)
        chooser.isNow(Self.info(0), 0)
        #expect(order(chooser, at: .seconds(1)) == [0, 1])
    }

    @Test func `one that failed is put behind for half a minute, for that peripheral, until it succeeds`() {
        var chooser = chooser(2)
        chooser.heard(Self.peer, -40, by: 0, at: .seconds(20))
        chooser.failed(Self.peer, by: 0, at: .zero)
        #expect(order(chooser, at: .seconds(29)) == [1, 0])
        #expect(order(chooser, at: .seconds(29), Self.other) == [0, 1])
        #expect(order(chooser, at: .seconds(30)) == [0, 1])
        chooser.failed(Self.peer, by: 0, at: .seconds(31))
        chooser.linked(to: Self.peer, by: 0, at: .seconds(32))
        #expect(order(chooser, at: .seconds(33)) == [0, 1])
    }

    @Test func `one without room comes even behind one that failed`() {
        var chooser = chooser(2)
        chooser.refused(by: 0, at: .zero)
        chooser.failed(Self.peer, by: 1, at: .zero)
        #expect(order(chooser, at: .seconds(1)) == [1, 0])
    }

    @Test func `those that waited in vain take turns, until it is heard`() {
        var chooser = chooser()
        chooser.waitedInVain(for: Self.peer, by: 0, at: .seconds(5))
        #expect(order(chooser, at: .seconds(6)) == [1, 2, 0])
        chooser.waitedInVain(for: Self.peer, by: 1, at: .seconds(10))
        chooser.waitedInVain(for: Self.peer, by: 2, at: .seconds(15))
        #expect(order(chooser, at: .seconds(16)) == [0, 1, 2])
        chooser.heard(Self.peer, -90, by: 2, at: .seconds(17))
        #expect(order(chooser, at: .seconds(18)) == [2, 0, 1])
    }

    @Test func `a bond ties a peripheral to the adapters that have its keys, also while they are away`() {
        var chooser = chooser(2)
        chooser.heard(Self.peer, -40, by: 0, at: .zero)
        chooser.restored([Bond(peer: Self.peer, adapter: Self.address(1))])
        #expect(order(chooser, at: .seconds(1)) == [1])
        #expect(order(chooser, at: .seconds(1), Self.other) == [0, 1])
        chooser.isNow(Self.info(1, .absent), 1)
        #expect(order(chooser, at: .seconds(1)).isEmpty)
        #expect(chooser.holders(of: Self.peer) == [1])
        chooser.paired(Bond(peer: Self.peer, adapter: Self.address(0)))
        #expect(order(chooser, at: .seconds(1)) == [0])
        chooser.unpaired(Self.peer)
        chooser.isNow(Self.info(1), 1)
        #expect(order(chooser, at: .seconds(1)) == [0, 1])
    }

    @Test func `a bond of an adapter that isn't joined ties to nothing`() {
        var chooser = chooser(2)
        chooser.restored([Bond(peer: Self.peer, adapter: Self.address(7))])
        #expect(order(chooser, at: .zero) == [0, 1])
    }

    @Test func `of several bonds that counts whose adapter has the link, or had the last, or is the first`() {
        var chooser = chooser(2)
        let bonds = [7, 1, 0].map { Bond(peer: Self.peer, adapter: Self.address($0)) }
        func chosen(linkedBy holder: Int? = nil, _ bonds: [Bond]) -> BluetoothAddress? {
            chooser.bond(among: bonds, with: [Self.other, Self.peer], linkedBy: holder)?.adapter
        }
        #expect(chosen(bonds) == Self.address(0) && chosen(linkedBy: 1, bonds) == Self.address(1))
        #expect(chosen([bonds[0]]) == nil && chosen([]) == nil)
        chooser.linked(to: Self.peer, by: 1, at: .zero)
        #expect(chosen(bonds) == Self.address(1) && chosen(linkedBy: 0, bonds) == Self.address(0))
        // One that has the link and no bond doesn't hide another one's.
        #expect(chosen(linkedBy: 0, [bonds[1]]) == Self.address(1))
    }

    @Test func `listening is for several adapters of which none has heard the peripheral lately`() {
        var chooser = chooser(2)
        #expect(chooser.listeners(for: Self.peer, at: .zero) == [0, 1])
        chooser.heard(Self.peer, -90, by: 1, at: .zero)
        #expect(chooser.listeners(for: Self.peer, at: .seconds(11)).isEmpty)
        #expect(chooser.listeners(for: Self.peer, at: .seconds(12)) == [0, 1])
        chooser.isNow(Self.info(1, .poweredOff), 1)
        #expect(chooser.listeners(for: Self.peer, at: .seconds(12)).isEmpty)
    }

    @Test func `it forgets whom it hasn't heard for longest`() {
        var chooser = chooser(2)
        chooser.linked(to: Self.peer, by: 1, at: .zero)
        for number in 0..<UInt64(AdapterChooser.maximumPeers) {
            let stranger = BluetoothAddress(rawValue: 0xC000_0000_0000 + number, kind: .random)
            chooser.heard(stranger, -50, by: 1, at: .seconds(1))
        }
        #expect(order(chooser, at: .seconds(2)) == [0, 1])
    }
}
