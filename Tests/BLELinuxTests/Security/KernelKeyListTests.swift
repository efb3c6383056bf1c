import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Lines as Linux 6.12 shows them, with keys that nobody has.
@Suite struct KernelKeyListTests {
    private static let legacy =
        "c4:f2:17:1a:1d:bb (type 1) 1 0x01 16 beef 0123456789abcdef 000102030405060708090a0b0c0d0e0f\n"
    private static let responder =
        "c4:f2:17:1a:1d:bb (type 1) 0 0x02 16 0000 0000000000000000 101112131415161718191a1b1c1d1e1f\n"
    private static let secure =
        "00:1a:7d:da:71:13 (type 0) 0 0x03 16 0000 0000000000000000 202122232425262728292a2b2c2d2e2f\n"
    private static let ofThisLink =
        "00:1a:7d:da:71:14 (type 0) 0 0x00 16 0000 0000000000000000 303132333435363738393a3b3c3d3e3f\n"
    private static let ofPrivateAddress =
        "4c:1a:7d:da:71:14 (type 1) 0 0x03 16 0000 0000000000000000 303132333435363738393a3b3c3d3e3f\n"
    private static let identity =
        "c4:f2:17:1a:1d:bb (type 1) 404142434445464748494a4b4c4d4e4f 5c:00:11:22:33:44\n"

    @Test func `keys are read as the management interface tells them`() throws {
        let text = Self.legacy + Self.responder + Self.secure
        let list = try #require(KernelKeyList(longTerm: text, identity: Self.identity))
        #expect(list.longTerm.map(\.kind.rawValue) == [1, 0, 2])
        #expect(list.longTerm.map(\.initiator) == [1, 0, 0])
        #expect(list.longTerm.map(\.address.lowEnergy?.kind) == [.random, .random, .public])
        #expect(list.longTerm[0].diversifier == 0xBEEF && list.longTerm[0].random == 0x0123_4567_89AB_CDEF)
        #expect(list.longTerm.allSatisfy { $0.size == 16 })
        #expect(list.longTerm[0].value == SecretKey(octets: 0..<16))
        #expect(list.longTerm[2].address == ManagementAddress(rawValue: 0x001A_7DDA_7113, kind: .lowEnergyPublic))
        #expect(list.identity.map(\.value) == [SecretKey(octets: 0x40..<0x50)].compactMap { $0 })
    }

    /// Each side of a legacy pairing has given the other a key; which one counts follows from the role on the next
    /// link.
    @Test func `the two keys of a legacy pairing are given back as the kernel made them`() throws {
        let made = try #require(KernelKeyList(longTerm: Self.legacy + Self.responder, identity: ""))
        let peer = try #require(made.longTerm[0].address.lowEnergy)
        let adapter = BluetoothAddress(rawValue: 0xF0F1_F2F3_F4F5, kind: .public)
        let bond = Bond(peer: peer, adapter: adapter, encryptionKeys: made.longTerm.map { Bond.EncryptionKey($0) })
        #expect(KernelKeyList([bond]) == made)
    }

    @Test func `keys that go with a link or with an address are left to go`() {
        let list = KernelKeyList(longTerm: Self.ofThisLink + Self.ofPrivateAddress, identity: "")
        #expect(list == KernelKeyList(longTerm: [], identity: []))
    }

    /// Arguments of tests are printed: no key is among them.
    @Test(arguments: [
        ("0x01", "0x09"), ("type 1", "type 7"), (" 16 ", " 999 "), ("0e0f", "0e0"), ("0e0f", "0exx"),
        ("(type 1) 1", "(type 1) 2"), ("\n", " more\n"), ("c4:f2", "c4:zz"),
    ])
    func `a line that is not understood spoils the list`(_ part: String, _ other: String) {
        for line in [Self.legacy.replacing(part, with: other), "c4:f2:17:1a:1d:bb", "nonsense\n"] {
            #expect(KernelKeyList(longTerm: line, identity: "") == nil)
            #expect(KernelKeyList(longTerm: "", identity: line) == nil)
        }
    }

    @Test func `keys of a bond replace those of its peer and no others`() throws {
        let old = try #require(KernelKeyList(longTerm: Self.legacy + Self.secure, identity: Self.identity))
        let new = KernelKeyList([.made(with: .example, value: 7)])
        let merged = old.replacing(with: new)
        #expect(merged.longTerm == [old.longTerm[1]] + new.longTerm)
        #expect(merged.identity == new.identity)
        #expect(merged.contains(new) && !old.contains(new))
    }
}

/// Who may set the kernel's list.
@Suite struct KernelKeysPlanTests {
    private let bonds = [Bond.made(with: .example, value: 1)]
    private let other = Bond.made(with: BluetoothAddress(rawValue: 0xD83A_5E00_0002, kind: .random), value: 2)
    private var others: KernelKeyList { KernelKeyList([other]) }

    private func plan(
        current: KernelKeyList? = nil,
        areLoaded: Bool = false,
        _ bluetoothd: Bluetoothd.Presence,
        claimed: [Bond]? = []
    ) -> KernelKeys.Plan {
        KernelKeys.plan(
            for: bonds,
            current: current,
            areLoaded: areLoaded,
            bluetoothd: bluetoothd,
            claimed: { claimed.map { $0 + bonds } }
        )
    }

    @Test(arguments: [Bluetoothd.Presence.here, .absent, .unknown])
    func `where the list can be seen, ours are added, whoever has set it`(_ bluetoothd: Bluetoothd.Presence) {
        let own = KernelKeyList(bonds)
        #expect(plan(current: others, bluetoothd) == .load(others.replacing(with: own)))
        // Taken away since.
        #expect(plan(current: others, areLoaded: true, bluetoothd) == .load(others.replacing(with: own)))
        #expect(plan(current: others.replacing(with: own), bluetoothd) == .nothing)
    }

    @Test func `other keys of the same peer stay, and ours are not given in their place`() {
        let foreign = KernelKeyList([.made(with: .example, value: 9)])
        #expect(foreign.contested(by: KernelKeyList(bonds)).count == 1)
        #expect(plan(current: foreign, .here) == .nothing)
        #expect(KernelKeyList(bonds).contested(by: KernelKeyList(bonds)).isEmpty)
        let both = KernelKeys.plan(
            for: bonds + [other],
            current: foreign,
            areLoaded: false,
            bluetoothd: .here,
            claimed: { nil }
        )
        #expect(both == .load(foreign.replacing(with: others)))
    }

    @Test func `keys in whose place a bond was put on purpose are nobody else's`() {
        var new = Bond.made(with: .example, value: 3)
        new.formerKeys = bonds[0].encryptionKeys
        let kernel = KernelKeyList(bonds + [other]).withoutFormerKeys(of: [new])
        #expect(kernel.longTerm == others.longTerm && kernel.contested(by: KernelKeyList([new])).isEmpty)
        // Whoever has paired since is left alone.
        let since = KernelKeyList([.made(with: .example, value: 4)])
        #expect(since.withoutFormerKeys(of: [new]) == since)
    }

    @Test func `where it can not be seen, it is left to bluetoothd, and to one that may be there`() {
        #expect(plan(.here) == .refuse(.bluetoothd))
        #expect(plan(.unknown) == .refuse(.perhapsBluetoothd))
        #expect(plan(areLoaded: true, .here) == .nothing)
    }

    @Test func `without bluetoothd it is left to the program that has claimed it`() {
        #expect(plan(.absent, claimed: nil) == .refuse(.anotherProgram))
        #expect(plan(.absent) == .load(KernelKeyList(bonds)))
        #expect(plan(areLoaded: true, .absent, claimed: nil) == .nothing)
    }

    @Test func `radios of one program share what they have loaded`() throws {
        let adapter = "test-\(UInt64.random(in: 0 ... .max))"
        let first = try #require(try KeyClaim.take(of: adapter))
        let second = try #require(try KeyClaim.take(of: adapter))
        #expect(first.add(bonds) == bonds)
        #expect(second.add([other]) == bonds + [other])
        first.remove(.example)
        #expect(second.add([]) == [other])
    }

    @Test func `the obstacles say whose the list is, and what mends it`() throws {
        let adapter = try LinuxAdapter("hci0", socket: nil, refusal: .accessDenied)
        let bluetoothd = KeyObstacle.bluetoothd.error(of: adapter)
        #expect(bluetoothd.cause.contains("bluetoothd") && bluetoothd.remedy.contains("unpair()"))
        let perhaps = KeyObstacle.perhapsBluetoothd.error(of: adapter)
        #expect(perhaps.cause.contains("bluetoothd may be running") && perhaps.remedy.contains("/run/dbus"))
        #expect(KeyObstacle.anotherProgram.error(of: adapter).cause.contains("another program"))
    }
}

extension Bond {
    fileprivate static func made(with peer: BluetoothAddress, value: UInt8) -> Bond {
        Bond(
            peer: peer,
            adapter: BluetoothAddress(rawValue: 0xF0F1_F2F3_F4F5, kind: .public),
            encryptionKeys: SecretKey(octets: [UInt8](repeating: value, count: 16)).map { key in
                [EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: key)]
            } ?? [],
            identityKey: SecretKey(octets: [UInt8](repeating: value, count: 16))
        )
    }
}
